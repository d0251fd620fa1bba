"""JailedConfig: files of a ConfigMap, written into the shared root of a Slurm cluster."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.condition import Conditions
from slurmery.api.fields import Atomic, Int32, Items, absent
from slurmery.api.resource import AGE, Column, CustomResource, Model
from slurmery.api.rules import Rule


def _condition_reason(name: str) -> str:
    return f".status.conditions[?(@.type=='{name}')].reason"


class ConfigMapRef(Model):
    """A ConfigMap in the same namespace."""

    name: str
    """Name of the ConfigMap."""


_PATH = Rule(
    "self.path.startsWith('/') && !self.path.matches('/[.][.]?(/|$)')",
    "must be an absolute path without . or .. in it",
    holds=lambda item: item["path"].startswith("/") and not {".", ".."} & set(item["path"].split("/")),
    path=".path",
)


class ConfigItem(Model, markers=(_PATH,)):
    """A key of the ConfigMap and the file that it becomes."""

    key: str
    """Key in the ConfigMap."""
    path: Annotated[str, Field(max_length=4096)]
    """Absolute path of the file inside the shared root."""
    mode: Int32 | None = None
    """Mode of the file."""


class JailedConfigSpec(Model):
    """Which files to write, where, and what to do when they changed."""

    config_map: ConfigMapRef
    """ConfigMap that holds the files."""
    items: Annotated[Items[ConfigItem], Atomic(), Field(max_length=1024)] = absent(())
    """Keys of the ConfigMap and the absolute path inside the shared root that each is written to. Needed in
    practice: without it every key is taken for a path, and a key cannot contain a slash."""
    default_mode: Int32 | None = None
    """Mode of files that do not set their own; 0644 (420) when absent."""
    update_actions: Annotated[Items[Literal["Reconfigure"]], Atomic()] = absent(())
    """What to do once all files are written: `Reconfigure` makes Slurm read its configuration again."""


class JailedConfigStatus(Model):
    """What became of the files."""

    conditions: Conditions = absent(())
    """FilesWritten and UpdateActionsCompleted, with the reason Init, Refresh, Success, NotFound, NotWritten
    or MissingAction."""


class JailedConfig(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1alpha1",
    plural="jailedconfigs",
    columns=(
        Column("Files Written", "string", _condition_reason("FilesWritten")),
        Column("Reconfiguration Status", "string", _condition_reason("UpdateActionsCompleted")),
        Column("Jailed Path", "string", ".spec.items[0].path"),
        AGE,
    ),
):
    """Files of a ConfigMap that are kept up to date in the shared root ("jail") of a Slurm cluster."""

    spec: JailedConfigSpec
    """Which files to write, where, and what to do when they changed."""
    status: JailedConfigStatus | None = None
    """What became of the files."""
