# SPDX-License-Identifier: MIT
"""For the scripts in Python that say their claims as TAP: the claims, waiting, ports, processes that
end with us, and pages that are served.

Imported with the folder of the tests in sys.path, so that whoever is started alone finds it:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * n))
    sys.dont_write_bytecode = True
"""
import ctypes
import http.server
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
_failed = 0


def claim(text, holds, why=""):
    """Prints a line that says so, or that not, and what was found. Returns whether it holds."""
    global _failed
    _failed += not holds
    found = "" if holds else "\n# found: %s" % str(why).replace("\n", "\n# ")
    print("%s - %s%s" % ("ok" if holds else "not ok", text, found), flush=True)
    return bool(holds)


def claim_that(text, check):
    """As claim: it holds if check() raises nothing."""
    try:
        check()
    except Exception as error:  # whatever it is, the claim does not hold
        claim(text, False, "%s: %s" % (type(error).__name__, str(error)[:600]))
    else:
        claim(text, True)


def skip(text, why):
    """It could not be seen whether the claim holds."""
    print("ok - %s # SKIP %s" % (text, why), flush=True)


def status():
    """What to exit with: 0 if every claim so far holds."""
    return int(_failed != 0)


def until(seconds, question):
    """Asks again until the answer is something true, or the time is over. Returns the last answer."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.01)


def free_port():
    """A port that is free for TCP and UDP."""
    while True:
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("127.0.0.1", 0))
                udp.bind(tcp.getsockname())
                return tcp.getsockname()[1]
            except OSError:
                continue


def die_with_us():
    """For preexec_fn: the process is killed when ours ends, however that does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Page(http.server.BaseHTTPRequestHandler):
    """What is asked of Pages; to be derived from, with do_GET."""

    def log_message(self, *args):
        pass

    def answer(self, body, status=200, kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Pages(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # who asked has ended
