"""NodeSetPowerState: which nodes of an ephemeral NodeSet are switched on."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.condition import Conditions
from slurmery.api.fields import Int32, Int64, Items, ListSet, Time, absent
from slurmery.api.resource import AGE, Column, CustomResource, Model


class NodeSetPowerStateSpec(Model):
    """Which nodes Slurm wants to be on."""

    node_set_ref: Annotated[str, Field(min_length=1)]
    """NodeSet in the same namespace; this object has the same name."""
    active_nodes: Annotated[Items[Int32], ListSet()] = absent(())
    """Ordinals of the nodes that are switched on."""


class NodePowerState(Model):
    """How far one node has got."""

    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    """Phase of its pod."""
    pod_name: str = absent("")
    """Pod that the node runs in."""
    slurm_state: str = absent("")
    """State that Slurm reports."""
    last_transition_time: Time | None = None
    """When the phase last changed."""
    message: str = absent("")
    """What holds it up, if anything does."""


class NodeSetPowerStateStatus(Model):
    """How far the nodes have got."""

    observed_generation: Int64 = absent(0)
    """Generation of the object that has been acted on."""
    active_count: Int32 = absent(0)
    """Number of nodes that are switched on."""
    node_states: dict[str, NodePowerState] = absent({})
    """The nodes by ordinal."""
    conditions: Conditions = absent(())
    """Ready and ScalingInProgress."""


class NodeSetPowerState(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1alpha1",
    plural="nodesetpowerstates",
    columns=(
        Column("NodeSet", "string", ".spec.nodeSetRef"),
        Column("Active", "integer", ".status.activeCount"),
        Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        AGE,
    ),
):
    """Which nodes of a NodeSet with ephemeral nodes are switched on; Slurm's power saving writes it."""

    spec: NodeSetPowerStateSpec | None = None
    """Which nodes Slurm wants to be on."""
    status: NodeSetPowerStateStatus | None = None
    """How far the nodes have got."""
