"""What the kinds of slinky.slurm.net must satisfy beyond their schemas."""

import re
from collections.abc import Iterator

from slurmery.admission.lookups import Answers, Seen, Unreadable, Want
from slurmery.admission.references import found
from slurmery.admission.review import Object
from slurmery.api.validation import Problem
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS
from slurmery.slinky import names

RESERVED = frozenset({names.SLURM_CONF, names.SLURMDBD_CONF})
CONFIG_FILES = frozenset(
    {
        "acct_gather.conf",
        "burst_buffer.conf",
        "cgroup.conf",
        "cli_filter.lua",
        "gres.conf",
        "helpers.conf",
        "job_container.conf",
        "job_submit.lua",
        "mpi.conf",
        "namespace.yaml",
        "oci.conf",
        "plugstack.conf",
        "topology.conf",
        "topology.yaml",
    }
)
_SECRET_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


def controller_wants(new: Object) -> Iterator[Want]:
    for _, name in _config_files(new):
        if name:
            yield _config_map(new, name)


def controller(new: Object, answers: Answers) -> Iterator[Problem]:
    """ConfigMaps that become files, the volume that standbys share, the keys of a controller outside."""
    for path, name in _config_files(new):
        if not name:
            yield Problem(path, "must name a ConfigMap")
        else:
            want = _config_map(new, name)
            yield from _config_file(path, want, answers[want])
    yield from _shared_claim(new, answers)
    yield from _external(new["spec"])


def accounting(new: Object, _: Answers) -> Iterator[Problem]:
    spec = new["spec"]
    if not spec.get("external") and "storageConfig" not in spec:
        yield Problem("spec.storageConfig", "slurmdbd cannot start without a database", warning=True)


def nodeset(new: Object, _: Answers) -> Iterator[Problem]:
    """Fields that their scaling mode does not heed."""
    spec = new["spec"]
    if spec.get("scalingMode") == "DaemonSet":
        for field in ("pinToNode", "ordinalPadding"):
            if spec.get(field):
                yield Problem(f"spec.{field}", "has no effect with scalingMode DaemonSet", warning=True)
    elif spec.get("pruneSlurmNodeRecords") == "NodeNotFound":
        words = "NodeNotFound has an effect only with scalingMode DaemonSet"
        yield Problem("spec.pruneSlurmNodeRecords", words, warning=True)


def token(new: Object, _: Answers) -> Iterator[Problem]:
    """The Secret's name is made of the user's unless it is given."""
    spec, name = new["spec"], new["metadata"].get("name") or "token"
    secret = f"{name}-jwt-{spec['username']}"
    if not spec.get("secretRef", {}).get("name") and not _SECRET_NAME.fullmatch(secret):
        words = f"{secret} cannot be the name of a Secret: name one in secretRef"
        yield Problem("spec.username", words, warning=True)


def _config_files(controller: Object) -> Iterator[tuple[str, str]]:
    for path, ref in found(controller.get("spec"), "configFileRefs[]"):
        yield path, str(ref.get("name") or "") if isinstance(ref, dict) else ""


def _config_map(controller: Object, name: str) -> Want:
    return Want(CONFIG_MAPS, Key(controller["metadata"]["namespace"], name))


def _config_file(path: str, want: Want, seen: Seen | Unreadable | None) -> Iterator[Problem]:
    if seen is None:
        yield Problem(path, f"{want} does not exist")
    elif isinstance(seen, Unreadable):
        yield Problem(path, f"{want} cannot be read: {seen.why}")
    else:
        for key in seen.keys:
            if key in RESERVED:
                yield Problem(path, f"{want} must not have the key {key}, a file that is generated")
            elif key not in CONFIG_FILES:
                words = f"{want} has the key {key}, which is not a configuration file of Slurm's"
                yield Problem(path, words, warning=True)


def _shared_claim(controller: Object, answers: Answers) -> Iterator[Problem]:
    spec = controller["spec"]
    claim = spec.get("persistence", {}).get("existingClaim")
    if not claim or not spec.get("ha", {}).get("enabled"):
        return
    path = "spec.persistence.existingClaim"
    want = Want(PERSISTENT_VOLUME_CLAIMS, Key(controller["metadata"]["namespace"], claim))
    seen = answers[want]
    if isinstance(seen, Unreadable):
        yield Problem(path, f"{want} cannot be read: {seen.why}")
    elif seen is not None and "ReadWriteMany" not in seen.access_modes:
        modes = ", ".join(seen.access_modes) or "none"
        yield Problem(path, f"with ha, {want} needs the access mode ReadWriteMany; it has {modes}")


def _external(spec: Object) -> Iterator[Problem]:
    if not spec.get("external"):
        return
    if "slurmKeyRef" not in spec:
        yield Problem("spec.slurmKeyRef", "workers and logins cannot join without it", warning=True)
    if "jwtKeyRef" not in spec and "jwtHs256KeyRef" not in spec:
        yield Problem("spec.jwtKeyRef", "Slurm's REST API cannot be used without it", warning=True)
