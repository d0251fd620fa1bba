"""The apply engine against a real API server: what is asserted is the objects and the server's audit log."""

import copy
from typing import Any

import pytest

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.apply import Act, Applier
from slurmery.kube.client import Client
from slurmery.kube.desired import Desired, Owner, Policy
from slurmery.kube.discovery import Discovery
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, Manifest, Resource
from slurmery.kube.observed import Direct
from slurmery.kube.resources import (
    CONFIG_MAPS,
    JOBS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
)

from .conftest import Writes
from .objects import LABELS, acts, cluster, manifest, statefulset


@pytest.fixture
def applier(client: Client) -> Applier:
    return Applier(client, Direct(client), Discovery(client, patience=0))


async def gone(client: Client, resource: Resource, key: Key) -> bool:
    try:
        await client.get(resource, key)
    except NotFoundError:
        return True
    return False


async def test_absent_objects_are_created_with_labels_and_owner(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    outcomes = await applier.apply(owner, cluster(namespace))
    assert acts(outcomes) == [Act.CREATED] * 5
    for desired in cluster(namespace):
        metadata = (await client.get(desired.resource, desired.key))["metadata"]
        assert metadata["labels"] == LABELS
        assert [(ref["uid"], ref["controller"]) for ref in metadata["ownerReferences"]] == [(owner.uid, True)]


async def test_a_converged_cluster_costs_no_write_also_in_the_first_pass_of_a_new_process(
    applier: Applier, client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    await applier.apply(owner, cluster(namespace))
    before = {one.key: await client.get(one.resource, one.key) for one in cluster(namespace)}
    writes()
    restarted = Applier(client, Direct(client), Discovery(client))
    outcomes = await restarted.apply(owner, cluster(namespace), prune=[CONFIG_MAPS, SERVICES])
    assert acts(outcomes) == [Act.UNCHANGED] * 5
    assert writes() == []
    for desired in cluster(namespace):
        assert await client.get(desired.resource, desired.key) == before[desired.key]


DRIFTS: list[tuple[str, Resource, str, Any]] = [
    ("a scaled statefulset", STATEFUL_SETS, "gpu", {"spec": {"replicas": 7}}),
    ("an edited file", CONFIG_MAPS, "conf", {"data": {"slurm.conf": "hacked"}}),
    ("a removed file", CONFIG_MAPS, "conf", {"data": {"slurm.conf": None}}),
    ("a stolen label", CONFIG_MAPS, "conf", {"metadata": {"labels": {"app.kubernetes.io/instance": "mine"}}}),
    ("an orphaned object", SERVICES, "login", {"metadata": {"ownerReferences": []}}),
    ("a redirected service", SERVICES, "login", {"spec": {"selector": {"a": "elsewhere"}}}),
    (
        "a widened role",
        ROLES,
        "reader",
        {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]},
    ),
    ("a forged signature", CONFIG_MAPS, "conf", {"metadata": {"annotations": {"slurmery/applied": "0"}}}),
]


@pytest.mark.parametrize("change", [change[1:] for change in DRIFTS], ids=[change[0] for change in DRIFTS])
async def test_drift_is_repaired(
    applier: Applier,
    client: Client,
    owner: Owner,
    writes: Writes,
    change: tuple[Resource, str, Manifest],
) -> None:
    (resource, name, patch), namespace = change, owner.key.namespace
    await applier.apply(owner, cluster(namespace))
    before = await client.get(resource, Key(namespace, name))
    await client.patch(resource, Key(namespace, name), patch)
    writes()
    outcomes = await applier.apply(owner, cluster(namespace))
    assert sorted(acts(outcomes)) == [Act.UNCHANGED] * 4 + [Act.UPDATED]
    assert writes() == [("patch", resource.plural, name)]
    after = await client.get(resource, Key(namespace, name))
    for volatile in ("resourceVersion", "managedFields", "generation"):
        before["metadata"].pop(volatile, None)
        after["metadata"].pop(volatile, None)
    assert after == before
    assert acts(await applier.apply(owner, cluster(namespace))) == [Act.UNCHANGED] * 5


async def test_what_others_add_is_left_alone(
    applier: Applier, client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    await applier.apply(owner, cluster(namespace))
    key = Key(namespace, "gpu")
    restart = {"kubectl.kubernetes.io/restartedAt": "now"}
    await client.patch(
        STATEFUL_SETS, key, {"spec": {"template": {"metadata": {"annotations": restart}}}}, kind="strategic"
    )
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "s"}]}}}}
    await client.patch(STATEFUL_SETS, key, sidecar, kind="strategic")
    writes()
    assert acts(await applier.apply(owner, cluster(namespace))) == [Act.UNCHANGED] * 5
    assert writes() == []
    template = (await client.get(STATEFUL_SETS, key))["spec"]["template"]
    assert template["metadata"]["annotations"] == restart
    assert {container["name"] for container in template["spec"]["containers"]} == {"slurmd", "sidecar"}


async def test_fields_no_longer_wanted_go_also_within_atomic_lists(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    await applier.apply(owner, cluster(namespace))
    desired = cluster(namespace)
    role = copy.deepcopy(dict(desired[3].manifest))
    del role["rules"][0]["resourceNames"]
    stateful = copy.deepcopy(dict(desired[4].manifest))
    pod = stateful["spec"]["template"]["spec"]
    del pod["tolerations"][0]["tolerationSeconds"]
    del pod["containers"][0]["env"][0]
    wanted = [*desired[:3], Desired(ROLES, role), Desired(STATEFUL_SETS, stateful)]
    outcomes = await applier.apply(owner, wanted)
    assert acts(outcomes) == [Act.UNCHANGED] * 3 + [Act.UPDATED] * 2
    assert "resourceNames" not in (await client.get(ROLES, Key(namespace, "reader")))["rules"][0]
    pod = (await client.get(STATEFUL_SETS, Key(namespace, "gpu")))["spec"]["template"]["spec"]
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]
    assert [variable["name"] for variable in pod["containers"][0]["env"]] == ["POD"]


async def test_a_generated_key_is_made_once_and_never_changed(
    applier: Applier, client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    def key(content: str) -> list[Desired]:
        return [
            Desired(SECRETS, manifest(SECRETS, "munge", namespace, data={"key": content}), Policy.CREATE_ONCE)
        ]

    assert acts(await applier.apply(owner, key("Zmlyc3Q="))) == [Act.CREATED]
    writes()
    assert acts(await applier.apply(owner, key("c2Vjb25k"))) == [Act.UNCHANGED]
    assert writes() == []
    assert (await client.get(SECRETS, Key(namespace, "munge")))["data"] == {"key": "Zmlyc3Q="}


async def test_only_our_own_objects_that_nobody_wants_are_pruned(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    def wanted(name: str) -> Desired:
        return Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, name, namespace, data={}))

    kept = Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "kept-for-good", namespace), owned=False)
    await applier.apply(owner, [wanted("wanted"), wanted("unwanted"), kept])
    users = manifest(CONFIG_MAPS, "users", namespace)
    users["metadata"]["labels"] = LABELS
    await client.create(CONFIG_MAPS, users)
    unlabelled = manifest(CONFIG_MAPS, "unlabelled", namespace)
    unlabelled["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid, "controller": True}
    ]
    await client.create(CONFIG_MAPS, unlabelled)

    outcomes = await applier.apply(owner, [wanted("wanted")], prune=[CONFIG_MAPS])
    assert [(outcome.act, outcome.key.name) for outcome in outcomes] == [
        (Act.UNCHANGED, "wanted"),
        (Act.PRUNED, "unwanted"),
    ]
    names = {one["metadata"]["name"] for one in (await client.list(CONFIG_MAPS, namespace)).items}
    assert names - {"kube-root-ca.crt"} == {"owner", "wanted", "kept-for-good", "users", "unlabelled"}


async def test_an_object_of_somebody_else_is_not_touched(
    applier: Applier, client: Client, owner: Owner, namespace: str, writes: Writes
) -> None:
    await client.create(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace, data={"theirs": "1"}))
    writes()
    (outcome,) = await applier.apply(
        owner, [Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace, data={"ours": "1"}))]
    )
    assert (outcome.act, outcome.reason) == (Act.BLOCKED, "NotOurs")
    assert writes() == []


async def test_an_object_that_lost_its_owner_but_was_ours_is_adopted_again(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    desired = [Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "conf", namespace, data={"a": "1"}))]
    await applier.apply(owner, desired)
    await client.patch(CONFIG_MAPS, Key(namespace, "conf"), {"metadata": {"ownerReferences": []}})
    assert acts(await applier.apply(owner, desired)) == [Act.UPDATED]


def job(namespace: str, image: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": image}]}
    return manifest(JOBS, "populate", namespace, spec={"template": {"spec": pod}})


async def test_an_immutable_change_blocks_with_a_sentence(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    await applier.apply(owner, cluster(namespace))
    stateful = copy.deepcopy(statefulset(namespace))
    stateful["spec"]["serviceName"] = "other"
    (outcome,) = await applier.apply(owner, [Desired(STATEFUL_SETS, stateful)])
    assert (outcome.act, outcome.reason) == (Act.BLOCKED, "ImmutableField")
    assert outcome.message.startswith(f"StatefulSet {namespace}/gpu cannot be changed in spec: ")
    assert (await client.get(STATEFUL_SETS, Key(namespace, "gpu")))["spec"]["serviceName"] == "gpu"


async def test_an_immutable_change_recreates_where_that_is_declared_safe(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    await applier.apply(owner, [Desired(JOBS, job(namespace, "old"), Policy.RECREATE)])
    key = Key(namespace, "populate")
    old = await client.get(JOBS, key)
    (outcome,) = await applier.apply(owner, [Desired(JOBS, job(namespace, "new"), Policy.RECREATE)])
    assert outcome.act is Act.RECREATED
    new = await client.get(JOBS, key)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["spec"]["template"]["spec"]["containers"][0]["image"] == "new"


async def test_a_manifest_that_is_simply_wrong_never_deletes_anything(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    await applier.apply(owner, [Desired(JOBS, job(namespace, "old"), Policy.RECREATE)])
    wrong = job(namespace, "old")
    wrong["spec"]["template"]["spec"]["restartPolicy"] = "Sometimes"
    (outcome,) = await applier.apply(owner, [Desired(JOBS, wrong, Policy.RECREATE)])
    assert (outcome.act, outcome.reason) == (Act.BLOCKED, "Invalid")
    assert not await gone(client, JOBS, Key(namespace, "populate"))


async def test_replacing_with_orphans_waits_until_the_old_one_is_gone(
    applier: Applier, client: Client, owner: Owner, namespace: str
) -> None:
    await applier.apply(owner, cluster(namespace))
    stateful = copy.deepcopy(statefulset(namespace))
    stateful["spec"]["serviceName"] = "other"
    desired = [Desired(STATEFUL_SETS, stateful, Policy.RECREATE_ORPHANING)]
    for _ in range(2):
        (outcome,) = await applier.apply(owner, desired)
        assert (outcome.act, outcome.reason) == (Act.BLOCKED, "Terminating")
    # The garbage collector, which this control plane lacks, would do this once the pods are orphaned.
    await client.patch(STATEFUL_SETS, Key(namespace, "gpu"), {"metadata": {"finalizers": None}})
    assert acts(await applier.apply(owner, desired)) == [Act.CREATED]


async def test_a_bad_object_blocks_with_the_reason_and_does_not_hold_up_the_others(
    applier: Applier, owner: Owner, namespace: str
) -> None:
    doubled = copy.deepcopy(statefulset(namespace))
    doubled["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A"}, {"name": "A"}]
    outcomes = await applier.apply(
        owner,
        [
            Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "bad", namespace, data={"not/a/key": "1"})),
            Desired(STATEFUL_SETS, doubled),
            Desired(SERVICES, manifest(SERVICES, "odd", namespace, spec={"colour": "red"})),
            Desired(CONFIG_MAPS, manifest(CONFIG_MAPS, "good", namespace)),
        ],
    )
    assert [outcome.reason for outcome in outcomes] == ["Invalid", "Invalid", "Invalid", ""]
    assert acts(outcomes) == [Act.BLOCKED, Act.BLOCKED, Act.BLOCKED, Act.CREATED]
    for outcome, words in zip(outcomes, ("not/a/key", "duplicate entries", "spec.colour", ""), strict=True):
        assert words in outcome.message


async def test_without_the_right_the_outcome_says_so(
    control_plane: ControlPlane, owner: Owner, namespace: str
) -> None:
    async with Client(config.load(control_plane.user("poor", "poor"))) as poor:
        applier = Applier(poor, Direct(poor), Discovery(poor))
        (outcome,) = await applier.apply(owner, cluster(namespace)[:1])
    assert (outcome.act, outcome.reason) == (Act.BLOCKED, "Forbidden")


async def test_a_binding_is_written_after_its_role(
    control_plane: ControlPlane, client: Client, owner: Owner, namespace: str
) -> None:
    """Whoever may not bind whatever he likes is refused a binding to a role that is not there yet."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    group = ROLES.group
    may_write = {
        "apiGroups": [group],
        "resources": ["roles", "rolebindings"],
        "verbs": ["create", "get", "patch"],
    }
    await client.create(ROLES, manifest(ROLES, "binder", namespace, rules=[rule, may_write]))
    await client.create(ROLE_BINDINGS, binding("binder", namespace, {"kind": "User", "name": "binder"}))
    role = Desired(ROLES, manifest(ROLES, "made", namespace, rules=[rule]))
    bound = Desired(ROLE_BINDINGS, binding("made", namespace, {"kind": "User", "name": "somebody"}))
    async with Client(config.load(control_plane.user("binder", "binder"))) as binder:
        outcomes = await Applier(binder, Direct(binder), Discovery(binder)).apply(owner, [bound, role])
    assert [(each.resource, each.act) for each in outcomes] == [
        (ROLE_BINDINGS, Act.CREATED),
        (ROLES, Act.CREATED),
    ]


def binding(role: str, namespace: str, subject: dict[str, str]) -> dict[str, Any]:
    ref = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": role}
    subjects = [{"apiGroup": ROLES.group, **subject}]
    return manifest(ROLE_BINDINGS, role, namespace, roleRef=ref, subjects=subjects)


async def test_what_a_predecessor_wrote_and_we_do_not_want_goes(
    applier: Applier, control_plane: ControlPlane, client: Client, owner: Owner, namespace: str
) -> None:
    theirs = manifest(CONFIG_MAPS, "taken", namespace)
    theirs["metadata"]["labels"] = {**LABELS, "left": "over"}
    theirs["data"] = {"kept": "old", "left-over": "x"}
    async with Client(config.load(control_plane.kubeconfig), user_agent="manager/v0.0.0") as before:
        await before.create(CONFIG_MAPS, theirs)
    ours = manifest(CONFIG_MAPS, "taken", namespace)
    ours["data"] = {"kept": "new"}
    desired = [Desired(CONFIG_MAPS, ours)]
    assert acts(await applier.apply(owner, desired)) == [Act.UPDATED]
    live = await client.get(CONFIG_MAPS, desired[0].key)
    assert (live["data"], live["metadata"]["labels"]) == ({"kept": "new"}, LABELS)
    assert acts(await applier.apply(owner, desired)) == [Act.UNCHANGED]


async def test_what_others_add_to_an_object_of_ours_stays_theirs(
    applier: Applier, control_plane: ControlPlane, client: Client, owner: Owner, namespace: str
) -> None:
    ours = manifest(CONFIG_MAPS, "shared", namespace)
    ours["data"] = {"kept": "ours"}
    desired = [Desired(CONFIG_MAPS, ours)]
    await applier.apply(owner, desired)
    async with Client(config.load(control_plane.kubeconfig), user_agent="manager/v0.0.0") as other:
        await other.patch(CONFIG_MAPS, desired[0].key, {"data": {"added": "theirs", "kept": "theirs"}})
    assert acts(await applier.apply(owner, desired)) == [Act.UPDATED]
    live = await client.get(CONFIG_MAPS, desired[0].key)
    assert live["data"] == {"kept": "ours", "added": "theirs"}
