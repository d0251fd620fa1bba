import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from slurmery.api.slinky import LoginSet
from slurmery.doors.conditions import Rollout
from slurmery.kube.desired import Policy
from slurmery.kube.meta import Manifest
from slurmery.slinky.loginset import hostkeys
from slurmery.slinky.loginset.decide import decide, status
from slurmery.slinky.loginset.observed import Observed
from tests.unit.images.container import Container
from tests.unit.slinky import golden
from tests.unit.slinky.clusters import SETTLED, controller
from tests.unit.slinky.sets import login_world, loginset

FULL: dict[str, Any] = {
    "metadata": {"labels": {"team": "hpc"}, "annotations": {"owner": "ops"}},
    "replicas": 2,
    "login": {
        "image": "login:26.05",
        "ports": [{"name": "login", "containerPort": 2222}],
        "env": [{"name": "TZ", "value": "UTC"}],
        "volumeMounts": [{"name": "home", "mountPath": "/home"}],
        "securityContext": {"privileged": False},
    },
    "initconf": {"image": "alpine:3"},
    "template": {
        "metadata": {"labels": {"tier": "login"}},
        "spec": {
            "hostNetwork": True,
            "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}],
            "tolerations": [],
            "dnsConfig": {"searches": ["example.org"]},
        },
    },
    "rootSshAuthorizedKeys": "ssh-ed25519 AAAA root@example\n",
    "extraSshdConfig": "X11Forwarding no\n",
    "strategy": {"type": "Recreate"},
    "service": {"spec": {"type": "LoadBalancer"}, "port": 22, "nodePort": 32222},
}


@pytest.mark.parametrize(("case", "spec"), [("minimal", {}), ("full", FULL)])
def test_manifests_are_the_reviewed_ones(case: str, spec: dict[str, Any]) -> None:
    plan = decide(loginset(**spec), login_world())
    golden.check(f"loginset-{case}", (desired.manifest for desired in plan.desired))


def objects(given: LoginSet, observed: Observed, **more: Any) -> dict[str, Manifest]:
    return {each.manifest["kind"]: each.manifest for each in decide(given, observed, **more).desired}


def login(given: LoginSet, observed: Observed) -> dict[str, Any]:
    spec: dict[str, Any] = objects(given, observed)["Deployment"]["spec"]["template"]["spec"]
    return spec


def test_users_are_asked_to_trust_a_host_key_once() -> None:
    keys = {"ssh_host_ed25519_key": b"private", "ssh_host_ed25519_key.pub": b"public"}
    first = decide(loginset(), login_world(host_keys_hash=None), keys)
    made = next(each for each in first.desired if each.manifest["kind"] == "Secret")
    assert made.policy is Policy.CREATE_ONCE
    assert made.manifest["immutable"] is True
    assert base64.b64decode(made.manifest["data"]["ssh_host_ed25519_key"]) == b"private"
    golden.valid(made.manifest)
    again = objects(loginset(), login_world(), fresh=keys)
    assert "Secret" not in again


def test_no_pod_starts_before_there_are_host_keys() -> None:
    assert "Deployment" not in objects(loginset(), login_world(host_keys_hash=None))


def test_host_keys_are_such_as_sshd_reads() -> None:
    files = hostkeys.generate(rsa_bits=2048)
    kinds: dict[str, Any] = {
        "rsa": rsa.RSAPrivateKey,
        "ed25519": ed25519.Ed25519PrivateKey,
        "ecdsa": ec.EllipticCurvePrivateKey,
    }
    assert set(files) == {name(each) for each in kinds for name in (hostkeys.private, hostkeys.public)}
    for algorithm, kind in kinds.items():
        key = load_ssh_private_key(files[hostkeys.private(algorithm)], password=None)
        assert isinstance(key, kind)
        public = load_ssh_public_key(files[hostkeys.public(algorithm)])
        form = (Encoding.OpenSSH, PublicFormat.OpenSSH)
        assert public.public_bytes(*form) == key.public_key().public_bytes(*form)


def test_every_host_key_is_mounted_where_sshd_looks() -> None:
    container = login(loginset(), login_world())["containers"][0]
    mounted = {mount["mountPath"]: mount.get("subPath") for mount in container["volumeMounts"]}
    for file in hostkeys.generate(rsa_bits=2048):
        assert mounted[f"/etc/ssh/{file}"] == file


def test_another_login_port_is_meant_everywhere() -> None:
    given = loginset(**FULL)
    made = objects(given, login_world())
    container = made["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert container["ports"] == [{"name": "login", "containerPort": 2222, "protocol": "TCP"}]
    assert made["Service"]["spec"]["ports"][0]["targetPort"] == "login"
    assert "Port 2222\n" in made["ConfigMap"]["data"]["sshd_config"]


def test_sackd_knows_its_controller_unless_the_user_says_otherwise() -> None:
    def sackd(given: LoginSet, observed: Observed) -> list[str]:
        environment = login(given, observed)["containers"][0]["env"]
        return [each["value"] for each in environment if each["name"] == "SACKD_OPTIONS"]

    assert sackd(loginset(), login_world()) == ["--conf-server slurm-controller.slurm:6817"]
    mine = loginset(login={"image": "x", "env": [{"name": "SACKD_OPTIONS", "value": "-vv"}]})
    assert sackd(mine, login_world()) == ["-vv"]
    external = controller(
        external=True,
        externalConfig={"host": "ctl", "port": 7},
        slurmKeyRef={"name": "slurm-auth-slurm", "key": "slurm.key"},
    )
    assert sackd(loginset(), login_world(controller=external)) == ["--conf-server ctl:7"]


def test_workers_are_found_by_their_bare_names() -> None:
    spec = login(loginset(), login_world(domain="corp.local"))
    assert spec["dnsConfig"]["searches"] == ["slurm-workers-slurm.slurm.svc.corp.local"]


@pytest.mark.parametrize(
    ("spec", "observed"),
    [
        ({}, {"slurm_key_hash": "k2"}),
        ({}, {"sssd_conf_hash": "s2"}),
        ({}, {"host_keys_hash": "h2"}),
        ({"extraSshdConfig": "LogLevel DEBUG"}, {}),
        ({"rootSshAuthorizedKeys": "ssh-ed25519 AAAA"}, {}),
    ],
)
def test_pods_restart_when_what_they_read_changes(spec: dict[str, Any], observed: dict[str, Any]) -> None:
    def template(given: LoginSet, world: Observed) -> dict[str, Any]:
        pods: dict[str, Any] = objects(given, world)["Deployment"]["spec"]["template"]
        return pods

    before = template(loginset(), login_world())
    after = template(loginset(**spec), login_world(**observed))
    assert before["spec"] == after["spec"]
    assert before["metadata"]["annotations"] != after["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("given", "observed", "reason"),
    [
        (loginset(), Observed(sssd_conf_hash="s"), "ControllerNotFound"),
        (loginset(), login_world(slurm_key_hash=None), "SecretNotFound"),
        (loginset(), login_world(sssd_conf_hash=None), "SecretNotFound"),
        (loginset(login={"image": "x", "ports": [{"name": "a"}], "args": 1}), login_world(), "InvalidSpec"),
        (loginset(rootSshAuthorizedKeys="a\x00b"), login_world(), "InvalidValue"),
        (loginset(login={}), login_world(), "ImageMissing"),
    ],
)
def test_what_runs_is_left_alone_while_something_is_wrong(
    given: LoginSet, observed: Observed, reason: str
) -> None:
    plan = decide(given, observed)
    assert "Deployment" not in [desired.manifest["kind"] for desired in plan.desired]
    degraded = next(each for each in plan.conditions if each.type == "Degraded")
    assert (degraded.status, degraded.reason) == ("True", reason)


def test_the_service_selects_the_pods_and_autoscalers_count_them() -> None:
    made = objects(loginset(), login_world())
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert made["Service"]["spec"]["selector"].items() <= labels.items()
    assert status(loginset(), login_world(rollout=SETTLED)) == {
        "replicas": 1,
        "selector": "app.kubernetes.io/instance=login,app.kubernetes.io/name=login",
    }
    assert status(loginset(), login_world())["replicas"] == 0


def test_it_can_be_scaled_to_zero() -> None:
    none = Rollout(generation=1, observed_generation=1, replicas=0, ready=0, updated=0)
    plan = decide(loginset(replicas=0), login_world(rollout=none))
    assert {each.type: each.status for each in plan.conditions} == {
        "Ready": "True",
        "Progressing": "False",
        "Degraded": "False",
    }


def test_files_are_laid_out_so_that_sackd_trusts_them(tmp_path: Path) -> None:
    script = login(loginset(), login_world())["initContainers"][0]["command"][-1]
    prepare = (
        "mkdir -p /mnt/slurm /mnt/etc/slurm; echo key >/mnt/slurm/slurm.key;"
        " echo a >/mnt/slurm/plugstack.conf; echo b >/mnt/slurm/slurmdbd.conf; echo c >/mnt/slurm/other"
    )
    show = "cd /mnt/etc/slurm; for file in *; do stat -c '%n %a %u:%g' $file; done"
    done = Container(tmp_path).run("/bin/sh", "-c", f"({script}) >/dev/null; {show}", setup=prepare)
    assert done.output.splitlines() == [
        "plugstack.conf 644 401:401",
        "slurm.key 600 401:401",
        "slurmdbd.conf 600 401:401",
    ]
