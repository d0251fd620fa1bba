"""What `slurmery webhook` can be told."""

from dataclasses import dataclass

from slurmery.cli.settings.shared import HookSettings, LeaseName, MetricsAddress, Watched, ZapSettings


@dataclass(frozen=True, kw_only=True)
class WebhookSettings(ZapSettings, HookSettings):
    """What the webhook server can be told."""

    metrics_bind_address: MetricsAddress = None
    leader_election_id: LeaseName = "slurm-operator-webhook"
    namespaces: Watched = ()
