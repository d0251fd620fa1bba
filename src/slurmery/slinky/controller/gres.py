"""GPUs of the cluster: what slurm.conf and gres.conf say of them where the user says nothing.

    extraConf has GresTypes            it stands; else what the NodeSets have, and what there was before
    configFileRefs have gres.conf      it stands; else how slurmd finds the GPUs of the pods' limits

Each NodeSet's own part, and what can be wrong among all of these, is in `nodeset.gres`.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from slurmery.api.slinky import Controller, NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.merge import MergeError
from slurmery.slinky.controller.observed import Observed
from slurmery.slinky.nodeset import conf, gres, slurmd
from slurmery.slinky.nodeset.observed import Observed as NodeSetWorld
from slurmery.slurmconf import text

GRES_CONF: Final = "gres.conf"


def types(controller: Controller, observed: Observed, before: str) -> str:
    """GresTypes for slurm.conf; "" where there is nothing to say. It never shrinks: jobs may name it."""
    if "grestypes" in text.settings(controller.spec.extra_conf):
        return ""
    found = {name for nodeset in _readable(observed.nodesets) for name in _own(nodeset)}
    return ",".join(sorted(found.union(filter(None, before.split(",")))))


def file(controller: Controller, observed: Observed) -> str | None:
    """gres.conf; None where the user's is used, or there is nothing to say."""
    if given(controller, observed) is not None:
        return None
    return gres.detection(slurmd.limits(nodeset) for nodeset in _readable(observed.nodesets))


def given(controller: Controller, observed: Observed) -> str | None:
    """The user's gres.conf."""
    refs = controller.spec.config_file_refs
    files = [observed.config_maps.get(ref.name, {}) for ref in refs]
    return next((found[GRES_CONF] for found in files if GRES_CONF in found), None)


def problems(controller: Controller, observed: Observed) -> list[Problem]:
    """Where gres.conf, GresTypes, NodeSets and limits do not agree."""
    world = NodeSetWorld(controller=controller, gres_conf=given(controller, observed))
    found = [
        Problem(gres.MISMATCH, f"NodeSet {nodeset.metadata.name}: {problem.message}")
        for nodeset in _readable(observed.nodesets)
        for problem in slurmd.problems(nodeset, world)
        if problem.reason == gres.MISMATCH
    ]
    makers = gres.makers(slurmd.limits(nodeset) for nodeset in _readable(observed.nodesets))
    if world.gres_conf is None and len(makers) > 1:
        message = (
            f"GRES: the NodeSets have GPUs of {', '.join(makers)}; for several, gres.conf must be given."
        )
        found.append(Problem(gres.MISMATCH, message))
    return found


def _own(nodeset: NodeSet) -> frozenset[str]:
    with suppress(conf.ConfError):
        said = conf.value_of(conf.parameters(nodeset.spec.extra_conf), "gres")
        return gres.kinds(slurmd.limits(nodeset), said)
    return gres.kinds(slurmd.limits(nodeset), "")


def _readable(nodesets: Iterable[NodeSet]) -> Iterator[NodeSet]:
    """Without those whose containers have not the shape of one: they are told so themselves."""
    for nodeset in nodesets:
        with suppress(MergeError):
            slurmd.fitting(nodeset)
            yield nodeset
