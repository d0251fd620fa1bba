"""What is decided for an Accounting."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.doors.conditions import Condition
from slurmery.doors.plan import Plan
from slurmery.kube.meta import Manifest
from slurmery.slinky.accounting.decide import PRUNED, decide
from slurmery.slinky.accounting.observed import Observed
from tests.unit.slinky.clusters import KEYS, SETTLED, accounting, accounting_world
from tests.unit.slurmconf.reader import read

EXTERNAL: dict[str, Any] = {"external": True, "externalConfig": {"host": "dbd", "port": 6819}}
STORAGE: dict[str, Any] = {"host": "db", "passwordKeyRef": {"name": "db", "key": "password"}}


def objects(observed: Observed | None = None, /, **spec: Any) -> dict[str, Manifest]:
    plan = decide(accounting(**spec), observed or accounting_world())
    manifests = [desired.manifest for desired in plan.desired]
    return {each["kind"]: each for each in manifests}


def conf(observed: Observed | None = None, /, **spec: Any) -> str:
    return base64.b64decode(objects(observed, **spec)["Secret"]["data"]["slurmdbd.conf"]).decode()


def pod(observed: Observed | None = None, /, **spec: Any) -> Manifest:
    template: Manifest = objects(observed, **spec)["StatefulSet"]["spec"]["template"]
    return template


def said(plan: Plan) -> dict[str, Condition]:
    return {condition.type: condition for condition in plan.conditions}


def test_slurmdbd_conf_is_the_contracts() -> None:
    assert (
        conf()
        == """\
#
### GENERAL ###
DbdHost=slurm-accounting-0
DbdPort=6819
SlurmUser=slurm
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
AuthInfo=use_client_ids
#
### STORAGE ###
StorageType=accounting_storage/mysql
StorageHost=mariadb
StoragePort=3306
StorageUser=slurm
StorageLoc=slurm_acct_db
StoragePass=secret
#
### LOGGING ###
LogFile=/dev/null
"""
    )


def test_extra_conf_takes_none_of_our_options_away() -> None:
    text = conf(extraConf="AuthAltParameters=disable_token_creation\nAuthInfo=ttl=5\nArchiveJobs=no")
    assert text.partition("### EXTRA CONFIG ###\n")[2] == (
        "AuthAltParameters=disable_token_creation\nAuthInfo=ttl=5\nArchiveJobs=no\n"
        "#\n### MERGED CONFIG ###\n"
        "AuthAltParameters=disable_token_creation,jwt_key=/etc/slurm/jwt.key\n"
        "AuthInfo=ttl=5,use_client_ids\n"
    )


def test_what_is_not_given_is_left_out() -> None:
    text = conf(
        accounting_world(password=None),
        storageConfig={**STORAGE, "passwordKeyRef": {**STORAGE["passwordKeyRef"], "optional": True}},
    )
    assert "StorageUser" not in text
    assert "StoragePass" not in text


@pytest.mark.parametrize("password", ["plain", "p#ss", "back\\slash", "two words", "ends\\", "x\n", 'q"uote'])
def test_slurm_reads_the_very_password(password: str) -> None:
    pairs = [pair for line in read(conf(accounting_world(password=password))) for pair in line]
    assert ("StoragePass", password.rstrip("\n")) in pairs


@given(
    host=st.text(max_size=20),
    user=st.text(max_size=20),
    database=st.text(max_size=20),
    password=st.text(max_size=20),
)
def test_no_value_adds_a_line_or_a_key(host: str, user: str, database: str, password: str) -> None:
    storage = {**STORAGE, "host": host, "username": user, "database": database}
    plan = decide(accounting(storageConfig=storage), accounting_world(password=password))
    if len(plan.desired) == 1:
        assert said(plan)["Degraded"].reason == "InvalidValue"
        assert len(password) < 3 or password not in said(plan)["Degraded"].message
        return
    data = plan.desired[1].manifest["data"]["slurmdbd.conf"]
    found = [line[0][0] for line in read(base64.b64decode(data).decode())]
    usual = [line[0][0] for line in read(conf())]
    optional = {"StorageUser", "StoragePass"}
    assert [key for key in found if key not in optional] == [key for key in usual if key not in optional]
    assert len(found) <= len(usual)


def test_selectors_pods_and_services_fit_together() -> None:
    found = objects(service={"port": 7819, "nodePort": 32500, "spec": {"externalIPs": ["192.0.2.1"]}})
    workload, service = found["StatefulSet"]["spec"], found["Service"]["spec"]
    labels = workload["template"]["metadata"]["labels"]
    assert workload["selector"]["matchLabels"].items() <= labels.items()
    assert service["selector"].items() <= labels.items()
    assert "externalIPs" not in service
    (port,) = service["ports"]
    assert (port["port"], port["nodePort"], port["targetPort"]) == (7819, 32500, "slurmdbd")
    (container,) = workload["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "slurmdbd", "containerPort": 6819, "protocol": "TCP"}]


def test_labels_of_the_template_reach_the_pod() -> None:
    template = {"metadata": {"labels": {"tier": "control"}}}
    assert pod(template=template)["metadata"]["labels"]["tier"] == "control"


@pytest.mark.parametrize(
    "change",
    [{"password": "new"}, {"slurm_key_hash": "k2"}, {"jwt_key_hash": "j2"}, {"jwks_hash": "w2"}],
)
def test_whatever_slurmdbd_reads_at_its_start_replaces_its_pod(change: dict[str, Any]) -> None:
    jwks = {"jwksKeyRef": {"name": "jwks", "key": "keys"}}
    before = {"jwks_hash": "w1"}
    assert pod(accounting_world(**before), **jwks) != pod(accounting_world(**{**before, **change}), **jwks)
    assert pod(accounting_world(**before), **jwks) == pod(accounting_world(**before), **jwks)


def test_the_password_is_in_the_secret_and_nowhere_else() -> None:
    observed = accounting_world(password="hunter2-hunter2")
    found = objects(observed)
    assert "hunter2" not in repr(observed)
    assert "hunter2" not in str([found["StatefulSet"], found["Service"]])


BLOCKED: dict[str, tuple[dict[str, Any], Observed, str, str]] = {
    "no key": (
        {},
        accounting_world(slurm_key_hash=None),
        "SecretNotFound",
        "Secret slurm-auth-slurm with key slurm.key, named by slurmKeyRef, does not exist.",
    ),
    "no password": (
        {},
        accounting_world(password=None),
        "SecretNotFound",
        "Secret mariadb-password with key password, named by storageConfig.passwordKeyRef, does not exist.",
    ),
    "no storage": (
        {"storageConfig": None},
        accounting_world(),
        "StorageNotGiven",
        "storageConfig is required unless external is true.",
    ),
    "no jwks": (
        {"jwksKeyRef": {"name": "jwks", "key": "keys"}},
        accounting_world(),
        "ConfigMapNotFound",
        "ConfigMap jwks with key keys, named by jwksKeyRef, does not exist.",
    ),
    "a password of two lines": (
        {},
        accounting_world(password="one\ntwo"),
        "InvalidValue",
        "StoragePass must not contain a line break or control character ('\\n').",
    ),
    "no image": (
        {"slurmdbd": {}},
        accounting_world(),
        "ImageMissing",
        "The container slurmdbd has no image: the spec must give one.",
    ),
}


@pytest.mark.parametrize("case", BLOCKED)
def test_what_a_person_must_mend_is_told_and_what_runs_is_left_alone(case: str) -> None:
    spec, observed, reason, message = BLOCKED[case]
    plan = decide(accounting(**spec), observed)
    assert [desired.manifest["kind"] for desired in plan.desired] == ["Service"]
    assert plan.prune == ()
    assert said(plan)["Degraded"] == Condition("Degraded", "True", reason, message)
    assert (said(plan)["Ready"].status, said(plan)["Ready"].reason) == ("False", reason)


def test_a_running_slurmdbd_is_ready_and_rests() -> None:
    plan = decide(accounting(), accounting_world(rollout=SETTLED))
    assert {kind: each.status for kind, each in said(plan).items()} == {
        "Ready": "True",
        "Progressing": "False",
        "Degraded": "False",
    }
    assert (plan.requeue, plan.prune) == (None, PRUNED)


def test_nothing_is_deployed_for_an_external_slurmdbd() -> None:
    plan = decide(accounting(**EXTERNAL), Observed())
    assert (plan.desired, plan.prune) == ((), PRUNED)
    assert said(plan)["Ready"].message == "slurmdbd runs outside Kubernetes, at dbd:6819."


def test_the_old_name_of_the_jwt_key_still_works() -> None:
    old = {"jwtKeyRef": None, "jwtHs256KeyRef": KEYS["jwtKeyRef"]}
    assert pod(**old) == pod()
