"""What `slurmery rebooter` can be told."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import RECONCILE, CacheTime, ServeSettings

NODE: Final = "The node"


@dataclass(frozen=True, kw_only=True)
class RebooterSettings(ServeSettings):
    """What the rebooter can be told."""

    cache_sync_timeout: CacheTime = timedelta(minutes=2)
    reconcile_timeout: Annotated[timedelta, Flag("Time between two looks at the node.", RECONCILE)] = (
        timedelta(minutes=3)
    )
    node_name: Annotated[str, Flag("Node that this pod runs on.", NODE, names=(), env="REBOOTER_NODE_NAME")]
    eviction_method: Annotated[
        str, Flag("How pods leave; only evict is offered.", NODE, names=(), env="REBOOTER_EVICTION_METHOD")
    ] = "evict"
    dry_run: Annotated[
        bool, Flag("Do everything but restart the machine, and go on as if it had been.", NODE)
    ] = False

    def __post_init__(self) -> None:
        if self.eviction_method == "drain":
            raise ValueError("REBOOTER_EVICTION_METHOD=drain is not offered: use evict")
