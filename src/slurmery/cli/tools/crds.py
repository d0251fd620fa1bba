"""`slurmery crds`: the custom resource definitions, as YAML for `kubectl apply --server-side -f -`."""

import sys
from collections.abc import Iterable
from typing import Any

import yaml

from slurmery.api.crd import crd
from slurmery.api.kinds import registry
from slurmery.api.resource import CustomResource


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, _: Any) -> bool:
        """Write shared parts out each time: not every reader of YAML knows anchors."""
        return True


def crds(*, group: str | None = None, kind: str | None = None) -> int:
    """Print the custom resource definitions.

    Parameters
    ----------
    group: str
        Only those of this API group.
    kind: str
        Only those of this name.
    """
    wanted = [
        one for one in registry() if group in {None, one.place.group} and kind in {None, one.place.kind}
    ]
    if not wanted:
        known = ", ".join(f"{one.place.group} {one.place.kind}" for one in registry())
        print(f"slurmery crds: there is no such kind; there are {known}", file=sys.stderr)
        return 1
    print(document(wanted), end="")
    return 0


def document(kinds: Iterable[type[CustomResource]]) -> str:
    """The definitions of these kinds, one YAML document each."""
    return "".join(
        "---\n" + yaml.dump(crd(kind), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
        for kind in kinds
    )
