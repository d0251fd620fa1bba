"""The policy as people write it: YAML or JSON, laid over the defaults.

    conditions: {KernelDeadlock: reboot, GpuNvlinkWatch: replace, AcceleratedHardwareReady=False: replace}
    reasons: {"[gpu]": replace}
    budget: 2

PolicyError (a ValueError) names the key that is wrong, and what may stand there.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import yaml

from slurmery.health.repair.policy import OWN, READY, Policy, Response, parsed

_KEYS: Final = ("conditions", "reasons", "budget")
# A drain reason cannot ask for a drain: its node is drained already.
_OF_REASONS: Final = (Response.IGNORE, Response.REBOOT, Response.REPLACE)


class PolicyError(ValueError):
    """The text is no policy."""


def laid_over(policy: Policy, text: str) -> Policy:
    """The policy with what the text changes; its reasons are looked for before the others."""
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyError(f"it is neither YAML nor JSON: {error}") from None
    given = _mapping("the file", {} if given is None else given)
    if unknown := given.keys() - set(_KEYS):
        raise PolicyError(f"{min(unknown)}: there is no such key; there are {', '.join(_KEYS)}")
    conditions = _responses("conditions", given.get("conditions", {}), tuple(Response))
    for sign in sorted(conditions):
        _check_sign(sign)
    reasons = _responses("reasons", given.get("reasons", {}), _OF_REASONS)
    return replace(
        policy,
        conditions={**policy.conditions, **conditions},
        reasons={**reasons, **{text: each for text, each in policy.reasons.items() if text not in reasons}},
        budget=_budget(given.get("budget", policy.budget)),
    )


def _responses(where: str, value: Any, allowed: tuple[Response, ...]) -> dict[str, Response]:
    words = {each.value: each for each in allowed}
    found: dict[str, Response] = {}
    for name, word in _mapping(where, value).items():
        if word not in words:
            raise PolicyError(f"{where}.{name}: must be one of {', '.join(words)}")
        found[name] = words[word]
    return found


def _check_sign(sign: str) -> None:
    kind, status = parsed(sign)
    if kind in {*OWN, READY}:
        raise PolicyError(f"conditions.{sign}: this condition has a meaning of its own in a repair")
    if status not in ("True", "False", "Unknown"):
        raise PolicyError(f"conditions.{sign}: what follows = must be True, False or Unknown")


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and key for key in value):
        raise PolicyError(f"{where}: must map names to what is done about them")
    return value


def _budget(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PolicyError("budget: must be a whole number of at least 1")
    return value
