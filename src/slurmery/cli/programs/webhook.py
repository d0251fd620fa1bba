"""`slurmery webhook`: answers the API server's admission requests."""

from functools import partial

from slurmery.cli import process
from slurmery.cli.settings.webhook import WebhookSettings
from slurmery.cli.webhooks import webhooks


def run(settings: WebhookSettings) -> None:
    """Serve until told to stop; every replica answers, leader or not."""
    process.run(settings, partial(webhooks, settings))
