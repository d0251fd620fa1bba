"""The chart of clusters: values in the shape of Slinky's come to resources that our own validation takes."""

import base64
import os
from pathlib import Path

import pytest
import yaml

from dev.binaries import Module
from slurmery.api.validation import validate
from tests.unit.charts.rendering import CHARTS, HELMS, Object, RenderError, lint, one, render

FILES = sorted(path.name for path in (CHARTS / "slurm/ci").iterdir())
GOLDEN = Path(__file__).parents[2] / "golden/charts"
GROUP = "slinky.slurm.net/"


def ours(objects: list[Object]) -> list[Object]:
    return [each for each in objects if each["apiVersion"].startswith(GROUP)]


def spec(values: Object, kind: str, name: str = "slurm") -> Object:
    found: Object = one(render("slurm", values), kind, name)["spec"]
    return found


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize("file", FILES)
def test_both_helms_are_content_and_so_are_we(helm: Module, file: str) -> None:
    lint("slurm", file, helm=helm)

    resources = ours(render("slurm", {}, file, helm=helm))
    assert {"Controller", "RestApi", "NodeSet"} <= {each["kind"] for each in resources}
    for each in resources:
        assert not validate(each), each["kind"]


@pytest.mark.parametrize("file", FILES)
def test_the_resources_are_those_written_down(file: str) -> None:
    rendered = yaml.safe_dump_all(ours(render("slurm", {}, file)), sort_keys=False, width=110)
    golden = GOLDEN / file.replace("-values", "")
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(rendered)

    assert rendered == golden.read_text()


def test_keys_are_made_strong_and_cannot_be_changed() -> None:
    objects = render("slurm")
    keys = {
        name: one(objects, "Secret", f"slurm-auth-{name.partition('.')[0]}")
        for name in ("slurm.key", "jwt.key")
    }

    for name, secret in keys.items():
        assert secret["immutable"] is True
        assert len(base64.b64decode(secret["data"][name])) == 1024
    assert keys["slurm.key"]["data"]["slurm.key"] != keys["jwt.key"]["data"]["jwt.key"]


@pytest.mark.parametrize(
    "values",
    [
        {"slurmKey": {"create": False}, "jwtKey": {"create": False}},
        {"controller": {"external": True, "externalConfig": {"host": "elsewhere"}}},
        {"accounting": {"enabled": True, "external": True, "externalConfig": {"host": "elsewhere"}}},
    ],
    ids=["told not to", "external controller", "external accounting"],
)
def test_no_keys_are_made_for_those_who_have_them(values: Object) -> None:
    assert "Secret" not in {each["kind"] for each in render("slurm", values)}


def test_a_chart_of_a_new_version_replaces_no_pods() -> None:
    labels = {
        key for each in ours(render("slurm", {}, "full-values.yaml")) for key in each["metadata"]["labels"]
    }

    assert labels == {"app.kubernetes.io/part-of", "app.kubernetes.io/managed-by"}


def test_names_are_those_that_slinky_gives() -> None:
    objects = render("slurm", {"nodesets": {"slinky": {}}, "loginsets": {"slinky": {}}}, release="slurm")
    assert one(objects, "NodeSet", "slurm-worker-slinky")["spec"]["template"]["spec"]["hostname"] == "slinky-"
    assert one(objects, "LoginSet", "slurm-login-slinky")
    assert one(objects, "Secret", "slurm-sssd-conf")
    assert one(render("slurm", release="mine"), "Controller", "mine-slurm")


def test_false_and_zero_are_said_and_emptiness_is_not() -> None:
    nodes = {"main": {"replicas": 0, "slurmd": {"securityContext": {"privileged": False}, "env": []}}}
    nodeset = spec({"nodesets": nodes}, "NodeSet", "slurm-worker-main")

    assert nodeset["replicas"] == 0
    assert nodeset["slurmd"]["securityContext"] == {"privileged": False}
    assert "env" not in nodeset["slurmd"]


def test_text_wins_over_a_map() -> None:
    both = {"extraConf": "MinJobAge=2\n", "extraConfMap": {"MinJobAge": 3}}

    assert spec({"controller": both}, "Controller")["extraConf"] == "MinJobAge=2\n"
    assert spec({"controller": {**both, "extraConf": None}}, "Controller")["extraConf"] == "MinJobAge=3\n"


@pytest.mark.parametrize(("given", "expected"), [("-", ""), ("", ""), ("fast", "fast"), (None, None)])
def test_the_storage_class_is_none_default_or_named(given: str | None, expected: str | None) -> None:
    persistence = spec({"controller": {"persistence": {"storageClassName": given}}}, "Controller")[
        "persistence"
    ]

    assert persistence.get("storageClassName") == expected


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"nodesets": {"main": {"replcas": 1}}}, "replcas"),
        ({"controler": {}}, "controler"),
        ({"partitions": {"all": {"nodesets": ["gpu"]}}}, '"gpu" is not a node set that is enabled'),
        ({"partitions": {"all": {}}}, "partitions.all.nodesets must name node sets"),
        ({"controller": {"slurmctld": {"image": ""}}}, "controller.slurmctld.image must not be empty"),
        ({"restapi": {"slurmrestd": {"image": {"tag": None}}}}, "restapi.slurmrestd.image.tag or"),
        ({"controller": {"external": True}}, "must say where slurmctld runs"),
        ({"controller": {"ha": {"enabled": True}}}, "a ReadWriteMany claim"),
        ({"vendor": {"nvidia": {"dcgm": {"enabled": True}}}}, "dcgm cannot be enabled here yet"),
        ({"tokens": {"admin": {}}}, "username"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value).split()[0],
)
def test_what_cannot_work_is_refused_with_a_sentence(helm: Module, values: Object, words: str) -> None:
    with pytest.raises(RenderError, match=words):
        render("slurm", values, helm=helm)
