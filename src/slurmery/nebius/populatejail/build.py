"""The Job that fills the shared root file system with its first content, once."""

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import JOBS
from slurmery.nebius import containers, names, pods, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.errors import SpecError
from slurmery.nebius.objects import named
from slurmery.nebius.pods import Part
from slurmery.nebius.volumes import Volume


def job(cluster: Cluster) -> Desired:
    """The Job. It is never changed: another image in the spec must not fill the root again."""
    given = cluster.spec.populate_jail
    snapshot = _snapshot(cluster)
    kind = containers.cluster_kind(cluster) if cluster.is_1_22 else {}
    mounts = [volumes.JAIL]
    if snapshot:
        mounts.append(volumes.mount(names.JAIL_SNAPSHOT, names.JAIL_SNAPSHOT_DIR))
    container = {
        "name": names.POPULATE_JAIL,
        "image": given.image,
        "imagePullPolicy": given.image_pull_policy,
        "env": containers.env({"OVERWRITE": "1" if overwrites(cluster) else "0", **kind}),
        "securityContext": {
            "capabilities": {"add": ["SYS_ADMIN"]},
            **containers.app_armor(given.app_armor_profile),
        },
        "volumeMounts": mounts,
    }
    own = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [volumes.shared_root(cluster), *([snapshot] if snapshot else ())],
    }
    part = Part(names.POPULATE_JAIL, "populateJail", given, (given,))
    spec = {
        "parallelism": 1,
        "completions": 1,
        "template": pods.template(cluster.labels(names.POPULATE_JAIL), {}, pods.pod_spec(cluster, part, own)),
    }
    name = cluster.names.populate_jail
    manifest = named(cluster, JOBS, name, names.POPULATE_JAIL, {"spec": spec})
    return Desired(JOBS, manifest, Policy.CREATE_ONCE)


def overwrites(cluster: Cluster) -> bool:
    """Whether content that is there already is replaced."""
    return (
        cluster.spec.populate_jail.overwrite
        or cluster.spec.maintenance == "downscaleAndOverwritePopulateJail"
    )


def _snapshot(cluster: Cluster) -> Volume | None:
    given = cluster.spec.populate_jail.jail_snapshot_volume
    if given is None:
        return None
    field = "populateJail.jailSnapshotVolume.volumeSourceName"
    if not given.volume_source_name:
        raise SpecError(f"{field} is missing: a Job makes no claims")
    return volumes.from_source(cluster, names.JAIL_SNAPSHOT, given.volume_source_name, field)
