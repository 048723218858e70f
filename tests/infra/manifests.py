# SPDX-License-Identifier: MIT
"""infra/kubernetes and infra/compose, read.

python3 manifests.py PROGRAM SOURCE FOLDER: prints one line for each claim. In FOLDER is what kubectl made
of infra/kubernetes, gateway.yaml and vllm.yaml, where there is a kubectl.
"""
import glob
import os
import re
import subprocess
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True  # beside the sources
from claims import claim, claim_that, skip, status  # noqa: E402

PROGRAM, SOURCE, FOLDER = sys.argv[1:]
INFRA = os.path.join(SOURCE, "infra")
TOKEN = os.path.join(FOLDER, "token")


def read(*path):
    with open(os.path.join(*path)) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def accepts(text):
    """What serve --check says of a configuration, with a token of ours, if it is refused."""
    write(os.path.join(FOLDER, "checked.yaml"), re.sub(r"token_file: \S+", "token_file: " + TOKEN, text))
    ran = subprocess.run([PROGRAM, "serve", "-c", os.path.join(FOLDER, "checked.yaml"), "--check"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", duration).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def mib(size):
    number, unit = re.fullmatch(r"(\d+)(M|G)(?:i|iB)", size).groups()
    return int(number) * {"M": 1, "G": 1024}[unit]


# --- Kubernetes


def least_power(pod):
    of_all = pod["securityContext"]
    assert of_all["runAsNonRoot"] is True and of_all["runAsUser"] > 0, of_all
    assert of_all["seccompProfile"] == {"type": "RuntimeDefault"}, of_all
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"] + pod["initContainers"]:
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] is True and own["allowPrivilegeEscalation"] is False, container["name"]
        assert own["capabilities"] == {"drop": ["ALL"]}, container["name"]
        assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"], container["name"]


def volumes_named(pod, made):
    """What is mounted is a volume, and a ConfigMap's volume is of one that is made."""
    there = {volume["name"]: volume for volume in pod["volumes"]}
    mounted = {m["name"] for c in pod["containers"] + pod["initContainers"] for m in c["volumeMounts"]}
    assert mounted == set(there), mounted ^ set(there)
    maps = {volume["configMap"]["name"] for volume in there.values() if "configMap" in volume}
    assert maps <= set(made), maps - set(made)


def probed(sidecar):
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert sidecar["livenessProbe"]["httpGet"]["path"] == sidecar["startupProbe"]["httpGet"]["path"] == "/healthz"
    ports = {p["name"]: p["containerPort"] for p in sidecar["ports"]}
    for probe in "readinessProbe", "livenessProbe", "startupProbe":
        assert sidecar[probe]["httpGet"]["port"] in ports, probe


def fits_configuration(pod, sidecar, config):
    """The figures that follow from the configuration's, and its files from what is mounted where."""
    limits = config["serve"]["limits"]
    pre_stop = max(int(c["lifecycle"]["preStop"]["exec"]["command"][1]) for c in pod["containers"])
    assert pod["terminationGracePeriodSeconds"] > pre_stop + 2 * seconds(limits["drain"])
    assert mib(sidecar["resources"]["limits"]["memory"]) > 2 * mib(limits["memory"]) + 256
    sizes = {v["name"]: v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if "emptyDir" in v}
    assert mib(sizes["log"]) > (config["log"]["keep"] + 1) * mib(config["log"]["rotate"])
    mounts = {m["name"]: m["mountPath"] for m in sidecar["volumeMounts"]}
    assert sidecar["args"] == ["serve", "-c", mounts["config"] + "/admitperf.yaml"]
    assert config["serve"]["token_file"].startswith(mounts["token"] + "/")
    assert config["log"]["path"].startswith(mounts["log"] + "/")
    listens = re.fullmatch(r"0\.0\.0\.0:(\d+)", config["serve"]["listen"])
    assert listens and int(listens[1]) == sidecar["ports"][0]["containerPort"]


def served(service, deployment):
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items() and deployment["spec"]["selector"]["matchLabels"] == labels
    pod = deployment["spec"]["template"]["spec"]
    names = {p["name"] for c in pod["containers"] + pod["initContainers"] for p in c["ports"]}
    assert {p["targetPort"] for p in service["spec"]["ports"]} == names, names


def nginx_is_told(pod):
    """What the gateway's container makes of our configuration for nginx, run here."""
    files = os.path.join(FOLDER, "conf.d")
    os.makedirs(files, exist_ok=True)
    script = pod["containers"][0]["command"][2]
    for old, new in (("/admitperf/", INFRA + "/gateways/nginx/"), ("/etc/nginx/conf.d/", files + "/"), ("exec nginx", "exec echo")):
        assert old in script, old
        script = script.replace(old, new)
    subprocess.run(["sh", "-ec", script], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "ADMIT_TOKEN": "0123456789abcdef"})
    before, after = (read(path, "admitperf.conf").splitlines() for path in (INFRA + "/gateways/nginx", files))
    changed = [new.split("#")[0].strip() for old, new in zip(before, after) if old != new]
    assert changed == ["upstream engine    { server vllm:8000; keepalive 64; }", "listen 8080;",
                       'proxy_set_header X-Admit-Token "0123456789abcdef";'], changed
    assert os.path.exists(files + "/admitperf.js")


def kubernetes(place):
    path = os.path.join(FOLDER, place + ".yaml")
    if not os.path.exists(path):
        skip("the pod of infra/kubernetes/%s has least power, and figures that fit" % place, "kubectl is not installed")
        return
    made = list(yaml.safe_load_all(read(path)))
    of = {}
    for each in made:
        of.setdefault(each["kind"], []).append(each)
    deployment, = of["Deployment"]
    service, = of["Service"]
    pod = deployment["spec"]["template"]["spec"]
    sidecar, = pod["initContainers"]
    ours, = [m for m in of["ConfigMap"] if "admitperf.yaml" in m["data"]]
    config = yaml.safe_load(ours["data"]["admitperf.yaml"])
    beside = "the pod of infra/kubernetes/%s " % place
    claim_that(beside + "has least power, and bounds", lambda: least_power(pod))
    claim_that(beside + "mounts what is made", lambda: volumes_named(pod, [m["metadata"]["name"] for m in of["ConfigMap"]]))
    claim_that(beside + "is probed where the sidecar says how it is", lambda: probed(sidecar))
    claim_that(beside + "has time to drain, memory and room for what its configuration says",
               lambda: fits_configuration(pod, sidecar, config))
    claim_that(beside + "has the ports that the Service names", lambda: served(service, deployment))
    claim_that("the sidecar takes the configuration in the ConfigMap beside " + place, lambda: accepts(ours["data"]["admitperf.yaml"]))
    if place == "gateway":
        claim_that("its nginx has our configuration, with the engine, its own port and the token", lambda: nginx_is_told(pod))


# --- compose


def compose():
    folder = os.path.join(INFRA, "compose")
    services = yaml.safe_load(read(folder, "compose.yaml"))
    named, services = services["volumes"], services["services"]
    lacking = []
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not (os.path.exists(os.path.join(folder, source)) if "/" in source else source in named):
                lacking.append((name, source))
        build = service.get("build")
        if build and not os.path.exists(os.path.join(folder, build["context"], build["dockerfile"])):
            lacking.append((name, build))
    claim("compose has vLLM, nginx, AdmitPerf and Prometheus", set(services) == {"vllm", "nginx", "admitperf", "prometheus"}, services)
    claim("every file and volume that compose mounts is there", not lacking, lacking)

    def told_files():
        """What programs are told to read is mounted where they look."""
        for name, path in ("admitperf", services["admitperf"]["command"][2]), \
                          ("prometheus", services["prometheus"]["command"][0].split("=")[1]), \
                          ("nginx", "/etc/nginx/conf.d/admitperf.js"):
            for source, to in (v.split(":")[:2] for v in services[name]["volumes"]):
                if path.startswith(to) and os.path.isfile(os.path.normpath(os.path.join(folder, source) + path[len(to):])):
                    break
            else:
                raise AssertionError((name, path))

    def addresses_meet():
        ours = yaml.safe_load(read(INFRA, "gateways", "admitperf.yaml"))
        assert all(s["network_mode"] == "host" for s in services.values())
        engine = re.fullmatch(r"http://(.*):(\d+)/metrics", ours["scrape"][0]["url"]).groups()
        said = services["vllm"]["command"]
        assert engine == (said[said.index("--host") + 1], said[said.index("--port") + 1]), engine
        assert '"%s"' % ours["serve"]["listen"] in read(INFRA, "prometheus", "prometheus.yml")

    claim_that("its programs find the files that they are told", told_files)
    claim_that("and each other, on the host's loopback", addresses_meet)


# --- all of it


def all_read():
    files = glob.glob(INFRA + "/**/*.y*ml", recursive=True)
    assert len(files) >= 15, files
    for path in files:
        assert list(yaml.safe_load_all(read(path))), path


def images_agree():
    """Who raises a version in one place would leave another behind."""
    seen = {}
    for path in glob.glob(INFRA + "/**/*.y*ml", recursive=True):
        for image, version in re.findall(r"^\s*image: (\S+):(\S+)", read(path), re.M):
            seen.setdefault(image, set()).add(version)
    version = re.search(r"AC_INIT\(\[admitperf\],\s*\[([^]]+)\]", read(SOURCE, "configure.ac"))[1]
    assert seen["admitperf"] == {version}, (seen, version)
    assert all(len(versions) == 1 for versions in seen.values()), seen


write(TOKEN, "0123456789abcdef\n")
claim_that("every YAML file of infra is read", all_read)
claim_that("an image has one version wherever it is named, and ours is this one", images_agree)
for path in sorted(glob.glob(INFRA + "/**/admitperf.yaml", recursive=True)):
    claim_that("the sidecar takes " + os.path.relpath(path, SOURCE), lambda: accepts(read(path)))
kubernetes("gateway")
kubernetes("vllm")
compose()
raise SystemExit(status())
