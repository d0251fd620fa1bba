"""Every hook there is: the name and path it is known by, what it is asked about, and who judges.

Names and paths are those of the upstream projects, so that their configurations keep working.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from slurmery.admission import binding, nebius, nodeconfigurator, secret, slinky
from slurmery.admission.customresource import Judge
from slurmery.admission.lookups import Answers, Want, served
from slurmery.admission.review import Request, Verdict
from slurmery.api import nebius as nebius_api
from slurmery.api import slinky as slinky_api
from slurmery.kube.meta import Resource
from slurmery.kube.resources import PODS, SECRETS

Operations = tuple[Literal["CREATE", "UPDATE", "DELETE"], ...]
CREATE_AND_UPDATE: Operations = ("CREATE", "UPDATE")


@dataclass(frozen=True)
class Hook:
    """One webhook. What `fails_open` lets objects pass when it cannot judge; the others refuse them."""

    name: str
    path: str
    resource: Resource
    wants: Callable[[Request], Iterable[Want]]
    judge: Callable[[Request, Answers], Verdict]
    operations: Operations = CREATE_AND_UPDATE
    subresource: str = ""
    mutating: bool = False
    fails_open: bool = False
    object_selector: dict[str, Any] = field(default_factory=dict)

    def unjudged(self, why: str) -> Verdict:
        """The verdict when there is none."""
        if self.fails_open:
            return Verdict(warnings=(f"{self.name} let this pass unseen: {why}",))
        return Verdict.denied(f"it could not be judged: {why}", HTTPStatus.INTERNAL_SERVER_ERROR)


def _kind(name: str, judge: Judge) -> Hook:
    place = judge.kind.place
    group = place.group.replace(".", "-")
    return Hook(
        name=f"{name}-{place.version}.kb.io",
        path=f"/validate-{group}-{place.version}-{place.kind.lower()}",
        resource=served(judge.kind),
        wants=judge.wants,
        judge=judge.judge,
    )


SLINKY = (
    _kind("accounting", Judge(slinky_api.Accounting, slinky.accounting)),
    _kind("controller", Judge(slinky_api.Controller, slinky.controller, slinky.controller_wants)),
    _kind("loginset", Judge(slinky_api.LoginSet)),
    _kind("nodeset", Judge(slinky_api.NodeSet, slinky.nodeset)),
    _kind("restapi", Judge(slinky_api.RestApi)),
    _kind("token", Judge(slinky_api.Token, slinky.token)),
)
PODS_BINDING = Hook(
    name="podsbinding-v1.kb.io",
    path="/mutate--v1-binding",
    resource=PODS,
    subresource="binding",
    operations=("CREATE",),
    wants=binding.wants,
    judge=binding.judge,
    mutating=True,
    fails_open=True,
)
NEBIUS = (
    Hook(
        name="vsecret-v1.kb.io",
        path="/validate--v1-secret",
        resource=SECRETS,
        operations=("CREATE", "UPDATE", "DELETE"),
        wants=secret.wants,
        judge=secret.judge,
        object_selector={"matchLabels": {secret.LABEL: "true"}},
    ),
    _kind("vslurmcluster", Judge(nebius_api.SlurmCluster, nebius.slurm_cluster)),
    _kind("vnodeset", Judge(nebius_api.NodeSet, nebius.nodeset)),
    Hook(
        name="nodeconfigurator.mutating.slurm.nebius.ai",
        path="/mutate-slurm-nebius-ai-v1alpha1-nodeconfigurator",
        resource=served(nebius_api.NodeConfigurator),
        wants=nodeconfigurator.wants,
        judge=nodeconfigurator.judge,
        mutating=True,
        fails_open=True,
    ),
)
ALL = (*SLINKY, PODS_BINDING, *NEBIUS)
