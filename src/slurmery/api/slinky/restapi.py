"""RestApi: slurmrestd."""

from slurmery.api.fields import Int32, absent
from slurmery.api.resource import CustomResource, Model
from slurmery.api.slinky.shared import (
    AGE,
    GROUP,
    NO_EXTERNAL_IPS,
    VERSION,
    Container,
    LocalRef,
    PodTemplate,
    ServiceTemplate,
    Status,
)


class RestApiSpec(Model, markers=(NO_EXTERNAL_IPS,)):
    """The slurmrestd to run."""

    controller_ref: LocalRef
    """Controller in the same namespace whose cluster is served."""
    replicas: Int32 = 1
    """How many slurmrestd pods there are."""
    slurmrestd: Container = absent({})
    """A core/v1 Container, merged over the generated slurmrestd container."""
    template: PodTemplate = absent(PodTemplate())
    """What to lay over the slurmrestd pods."""
    service: ServiceTemplate = absent(ServiceTemplate())
    """What to lay over the Service of slurmrestd."""


class RestApi(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="restapis",
    short_names=("slurmrestd",),
    columns=(AGE,),
):
    """Slurm's REST API: slurmrestd."""

    spec: RestApiSpec
    """The slurmrestd to run."""
    status: Status | None = None
    """What the operator observed."""
