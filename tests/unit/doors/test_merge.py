"""The user's part over the generated one: who wins, what is added, what counts as unset."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.slinky.shared import Labelled, ServiceTemplate
from slurmery.doors.merge import (
    MergeError,
    merge_container,
    merge_metadata,
    merge_pod_spec,
    merge_service,
    port_number,
    unset,
)

Manifest = dict[str, Any]
HTTP = {"httpGet": {"path": "/livez", "port": "slurmd"}, "failureThreshold": 6, "periodSeconds": 10}
BASE: Manifest = {
    "name": "slurmd",
    "args": ["-Z"],
    "env": [{"name": "POD_CPUS", "value": "0"}, {"name": "OTHER", "value": "x"}],
    "ports": [{"name": "slurmd", "containerPort": 6818, "protocol": "TCP"}],
    "securityContext": {"privileged": True, "runAsNonRoot": True, "runAsUser": 401},
    "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True}],
    "livenessProbe": HTTP,
    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
}


def container(**user: Any) -> Manifest:
    return merge_container(BASE, user)


def test_args_follow_the_generated_ones() -> None:
    assert container(args=["-v"])["args"] == ["-Z", "-v"]


def test_the_name_may_be_changed() -> None:
    assert container(name="mine")["name"] == "mine"


def test_resources_are_merged_amount_by_amount() -> None:
    resources = container(resources={"limits": {"memory": "2Gi"}, "requests": {"cpu": 0}})["resources"]
    assert resources == {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": 0}}


@pytest.mark.parametrize(
    ("given_context", "merged"),
    [
        ({"privileged": False}, {"privileged": False, "runAsNonRoot": True, "runAsUser": 401}),
        ({"runAsUser": 0}, {"privileged": True, "runAsNonRoot": False, "runAsUser": 0}),
        ({"runAsUser": 0, "runAsNonRoot": True}, {"privileged": True, "runAsNonRoot": True, "runAsUser": 0}),
        ({"runAsNonRoot": False}, {"privileged": True, "runAsNonRoot": False, "runAsUser": 401}),
        (
            {"capabilities": {"add": [], "drop": None}},
            {"privileged": True, "runAsNonRoot": True, "runAsUser": 401},
        ),
    ],
)
def test_false_and_zero_are_answers_and_empty_is_not(given_context: Manifest, merged: Manifest) -> None:
    assert container(securityContext=given_context)["securityContext"] == merged


@pytest.mark.parametrize(
    ("probe", "merged"),
    [
        (
            {"exec": {"command": ["x"]}},
            {"exec": {"command": ["x"]}, "failureThreshold": 6, "periodSeconds": 10},
        ),
        ({"failureThreshold": 1}, {**HTTP, "failureThreshold": 1}),
        ({"initialDelaySeconds": 0}, {**HTTP, "initialDelaySeconds": 0}),
        (
            {"httpGet": {"path": "/x", "port": 1}},
            {"httpGet": {"path": "/x", "port": 1}, "failureThreshold": 6, "periodSeconds": 10},
        ),
        ({}, HTTP),
    ],
)
def test_a_probe_keeps_its_handler_unless_another_is_given(probe: Manifest, merged: Manifest) -> None:
    assert container(livenessProbe=probe)["livenessProbe"] == merged


def test_other_probes_are_untouched_and_new_ones_taken() -> None:
    merged = container(readinessProbe={"exec": {"command": ["x"]}})
    assert merged["livenessProbe"] == HTTP
    assert merged["readinessProbe"] == {"exec": {"command": ["x"]}}


def test_a_hook_of_another_kind_replaces_ours() -> None:
    hooks = container(lifecycle={"preStop": {"sleep": {"seconds": 5}}})["lifecycle"]
    assert hooks == {"preStop": {"sleep": {"seconds": 5}}}


def test_environment_is_merged_by_name_and_an_empty_value_is_a_value() -> None:
    source = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    merged = container(env=[{"name": "OTHER", "valueFrom": source}, {"name": "NEW", "value": ""}])["env"]
    assert merged == [
        {"name": "POD_CPUS", "value": "0"},
        {"name": "OTHER", "valueFrom": source},
        {"name": "NEW", "value": ""},
    ]


def test_ports_are_the_same_by_number_or_by_name() -> None:
    assert container(ports=[{"containerPort": 6818, "hostPort": 6818}])["ports"] == [
        {"name": "slurmd", "containerPort": 6818, "protocol": "TCP", "hostPort": 6818}
    ]
    moved = container(ports=[{"name": "slurmd", "containerPort": 7000}])
    assert moved["ports"] == [{"name": "slurmd", "containerPort": 7000, "protocol": "TCP"}]
    assert port_number({"ports": [{"name": "slurmd", "containerPort": 7000}]}, "slurmd", 6818) == 7000
    assert port_number({"ports": [{"name": "slurmd", "hostPort": 7000}]}, "slurmd", 6818) == 6818
    assert port_number({}, "slurmd", 6818) == 6818
    assert len(container(ports=[{"name": "metrics", "containerPort": 9}])["ports"]) == 2


def test_our_port_keeps_the_name_that_services_and_probes_know() -> None:
    assert container(ports=[{"containerPort": 6818, "name": "mine"}])["ports"] == BASE["ports"]


def test_a_mount_at_the_same_path_replaces_ours() -> None:
    mine = {"name": "mine", "mountPath": "/etc/slurm"}
    assert container(volumeMounts=[mine])["volumeMounts"] == [mine]


def test_lists_without_keys_are_replaced() -> None:
    base = {"name": "x", "command": ["a"], "securityContext": {"capabilities": {"add": ["BPF"]}}}
    user = {"command": ["b"], "securityContext": {"capabilities": {"add": ["KILL"]}}}
    assert merge_container(base, user) == {"name": "x", **user}


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ({"env": {"A": "b"}}, "spec.slurmd.env must be a list"),
        ({"env": [{"value": "b"}]}, r"spec.slurmd.env\[0\] needs a name"),
        ({"securityContext": "none"}, "spec.slurmd.securityContext must be an object"),
        ({"ports": ["22"]}, r"spec.slurmd.ports\[0\] must be an object"),
        ({"ports": [{"containerPort": "22"}]}, r"ports\[0\].containerPort must be a whole number"),
        ({"args": [None]}, r"spec.slurmd.args\[0\] must not be null"),
        ({"resources": {"limits": {"cpu": "much"}}}, "limits.cpu must be a quantity"),
        ({"livenessProbe": {"httpGet": {"port": True}}}, "httpGet.port must be a number or a text"),
    ],
)
def test_a_wrong_shape_is_told_with_its_place(user: Manifest, sentence: str) -> None:
    with pytest.raises(MergeError, match=sentence):
        merge_container(BASE, user)


ANTI = "requiredDuringSchedulingIgnoredDuringExecution"
OURS = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
POD: Manifest = {
    "initContainers": [{"name": "logfile", "image": "alpine"}],
    "containers": [BASE],
    "tolerations": [{"key": "worker", "operator": "Equal", "effect": "NoExecute"}],
    "affinity": {"podAntiAffinity": {ANTI: [OURS]}},
    "dnsConfig": {"searches": ["workers.slurm.svc.cluster.local"]},
    "volumes": [
        {"name": "slurm-etc", "projected": {"defaultMode": 0o600, "sources": []}},
        {"name": "run", "emptyDir": {"medium": "Memory"}},
    ],
}


def pod(**user: Any) -> Manifest:
    return merge_pod_spec(POD, user)


def test_containers_are_added_and_one_of_our_name_is_merged() -> None:
    merged = pod(
        containers=[{"name": "exporter", "image": "x"}, {"name": "slurmd", "image": "mine"}],
        initContainers=[{"name": "setup", "image": "y"}],
    )
    assert [each["name"] for each in merged["containers"]] == ["slurmd", "exporter"]
    assert merged["containers"][0]["image"] == "mine"
    assert [each["name"] for each in merged["initContainers"]] == ["logfile", "setup"]


def test_tolerations_and_affinity_terms_are_added_to_ours() -> None:
    mine = {"key": "nvidia.com/gpu", "operator": "Exists"}
    term = {"topologyKey": "rack", "labelSelector": {}}
    merged = pod(
        tolerations=[mine, *POD["tolerations"]],
        affinity={"podAntiAffinity": {ANTI: [term]}, "nodeAffinity": {ANTI: {"nodeSelectorTerms": []}}},
    )
    assert merged["tolerations"] == [*POD["tolerations"], mine]
    assert merged["affinity"]["podAntiAffinity"][ANTI] == [OURS, term]


def test_searches_are_added_because_slurm_needs_ours() -> None:
    assert pod(dnsConfig={"searches": ["corp"], "options": [{"name": "ndots", "value": "1"}]})[
        "dnsConfig"
    ] == {
        "searches": ["workers.slurm.svc.cluster.local", "corp"],
        "options": [{"name": "ndots", "value": "1"}],
    }


def test_a_volume_of_another_source_replaces_ours() -> None:
    merged = pod(
        volumes=[
            {"name": "run", "hostPath": {"path": "/run"}},
            {"name": "slurm-etc", "projected": {"defaultMode": 0o400}},
            {"name": "home", "persistentVolumeClaim": {"claimName": "home"}},
            {"name": "slurm-etc"},
        ]
    )["volumes"]
    assert merged == [
        {"name": "slurm-etc", "projected": {"defaultMode": 0o400, "sources": []}},
        {"name": "run", "hostPath": {"path": "/run"}},
        {"name": "home", "persistentVolumeClaim": {"claimName": "home"}},
    ]


def test_a_node_label_may_be_empty() -> None:
    selector = {"node-role.kubernetes.io/worker": ""}
    assert pod(nodeSelector=selector)["nodeSelector"] == selector


def test_what_a_chart_writes_for_nothing_is_nothing() -> None:
    nothing: Manifest = {
        "affinity": {},
        "imagePullSecrets": None,
        "initContainers": [],
        "nodeSelector": {},
        "priorityClassName": "",
        "resources": {},
        "tolerations": [],
        "volumes": [],
        "securityContext": {"seccompProfile": {"type": ""}},
    }
    assert pod(**nothing) == POD


def test_later_layers_of_metadata_win_and_private_notes_stay_behind() -> None:
    cr = Labelled(
        labels={"a": "1", "b": "1"},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "kept"},
    )
    assert merge_metadata(cr, Labelled(labels={"b": "2"}), Labelled(annotations={"x": "y"})) == {
        "labels": {"a": "1", "b": "2"},
        "annotations": {"note": "kept", "x": "y"},
    }


def service(template: Manifest) -> Manifest:
    return merge_service(
        ServiceTemplate.model_validate(template), name="slurmrestd", port=6820, selector={"app": "x"}
    )


def port(number: int, **more: Any) -> Manifest:
    return {"name": "slurmrestd", "port": number, "targetPort": "slurmrestd", "protocol": "TCP", **more}


@pytest.mark.parametrize(
    ("template", "spec"),
    [
        ({}, {"ports": [port(6820)], "selector": {"app": "x"}}),
        ({"port": 80}, {"ports": [port(80)], "selector": {"app": "x"}}),
        (
            {"nodePort": 32500},
            {"type": "NodePort", "ports": [port(6820, nodePort=32500)], "selector": {"app": "x"}},
        ),
        (
            {"nodePort": 32500, "spec": {"type": "LoadBalancer", "externalIPs": ["10.0.0.1"]}},
            {"type": "LoadBalancer", "ports": [port(6820, nodePort=32500)], "selector": {"app": "x"}},
        ),
        (
            {"spec": {"ports": [{"name": "extra", "port": 1}], "selector": {"app": "mine", "b": "c"}}},
            {"ports": [{"name": "extra", "port": 1}, port(6820)], "selector": {"app": "x", "b": "c"}},
        ),
    ],
)
def test_a_service_is_the_users_with_our_port_and_selector(template: Manifest, spec: Manifest) -> None:
    assert service(template) == spec


@pytest.mark.parametrize("theirs", [{"name": "slurmrestd", "port": 1}, {"name": "other", "port": 6820}])
def test_a_doubled_port_is_refused(theirs: Manifest) -> None:
    with pytest.raises(MergeError, match="is there twice"):
        service({"spec": {"ports": [theirs]}})


scalars = st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=3)
free = st.recursive(
    scalars,
    lambda inner: st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
contexts = st.fixed_dictionaries(
    {},
    optional={
        "privileged": st.none() | st.booleans(),
        "runAsNonRoot": st.none() | st.booleans(),
        "runAsUser": st.none() | st.integers(0, 2),
    },
)
named = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("xyz"), "value": st.text(max_size=2)}), max_size=3
)
users = st.fixed_dictionaries(
    {}, optional={"securityContext": contexts, "env": named, "image": st.text(max_size=3), "own": free}
)


@given(users)
def test_merging_nothing_changes_nothing(user: Manifest) -> None:
    base = merge_container(BASE, user)
    assert merge_container(base, {}) == base


@given(users)
def test_merging_again_changes_nothing(user: Manifest) -> None:
    once = merge_container(BASE, user)
    assert merge_container(once, user) == once


@given(users)
def test_the_user_wins(user: Manifest) -> None:
    merged = merge_container(BASE, user)
    for name, value in user.get("securityContext", {}).items():
        assert unset(value) or merged["securityContext"][name] == value
    for name, value in {each["name"]: each["value"] for each in user.get("env", [])}.items():
        assert {"name": name, "value": value} in merged["env"]
    assert unset(user.get("image")) or merged["image"] == user["image"]


@given(st.dictionaries(st.sampled_from(["env", "ports", "args", "securityContext", "livenessProbe"]), free))
def test_whatever_is_written_is_merged_or_refused_with_its_place(user: Manifest) -> None:
    try:
        merge_container(BASE, user)
    except MergeError as error:
        assert str(error).startswith("spec.slurmd.")  # noqa: PT017


@given(users)
def test_what_the_user_does_not_name_stays(user: Manifest) -> None:
    merged = merge_container(BASE, user)
    assert all(merged[field] == BASE[field] for field in BASE.keys() - user.keys())
