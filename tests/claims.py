# SPDX-License-Identifier: MIT
"""For the scripts in Python that say their claims as TAP: the claims, waiting, how long the machine had
others wait, ports, processes that end with us, and pages that are served.

Imported with the folder of the tests in sys.path, so that whoever is started alone finds it:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * n))
    sys.dont_write_bytecode = True
"""
import ctypes
import http.server
import os
import random
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
_failed = 0
_patience = float(os.environ.get("CK_TIMEOUT_MULTIPLIER") or 1)  # as Check's own limits are multiplied


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
    """Asks again until the answer is something true, or the time of a quiet machine is over, multiplied as
    the limits of tests are. For what is bound to come: how soon is not what is asked. Returns the last answer."""
    end = time.monotonic() + seconds * _patience
    while True:
        answer = question()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.01)


def free_port():
    """A port that is free for TCP and UDP, and below those that the kernel deals out: what else is tested
    meanwhile connects from those, and might be given this one before it is bound."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        lowest = int(f.read().split()[0])
    below = range(max(1024, min(10000, lowest // 2)), lowest) or range(lowest, 65536)
    for port in random.sample(below, min(1000, len(below))):
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError("no port is free")


def tree(pid):
    """The process and all that it began, and they; those that are gone meanwhile are left out."""
    found = [pid]
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += [p for child in f.read().split() for p in tree(int(child))]
    except OSError:
        pass
    return found


def waited_ms(*pids):
    """How long the threads of these, and of all that they began, were ready and had no processor: what can
    be said to be late by that much is the machine's doing."""
    total = 0
    for pid in {p for each in pids for p in tree(each)}:
        try:
            for task in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
                    total += int(f.read().split()[1])
        except OSError:
            pass
    return total / 1e6


def claim_in_time(text, late, waited, why=""):
    """As claim, of what was to be in time and came so many ms late, if more than 0. As long as processes had
    meanwhile to wait for a processor (waited_ms), it cannot be said whose doing that is."""
    if 0 < late <= waited:
        skip(text, "late by %.0f ms, but it had to wait %.0f ms for a processor" % (late, waited))
    else:
        claim(text, late <= 0, why)


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
