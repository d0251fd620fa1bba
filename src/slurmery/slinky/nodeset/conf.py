"""What slurmd says about its node when it registers: the value of `--conf`.

    extraConf: weight=5 Feature=ib Gres=gpu:8      the NodeSet is called gpu in Slurm
    --conf     'Features=gpu,ib Gres=gpu:8 weight=5 Topology='"$SLINKY_TOPOLOGY"''

The image's entry point reads the value as a shell would, or is a shell: everything of the user's stands in
single quotes. The topology is known only when the pod runs. It is the last word because it may be empty, and
Slurm takes the word after an empty value for the value.
"""

import re
from collections.abc import Iterable

Parameters = dict[str, str]

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VALUE = re.compile(r'[^\x00-\x20\x7f"]*')
_FEATURES = frozenset({"feature", "features"})
_TOPOLOGY = "topology"


class ConfError(ValueError):
    """The text is not a list of Key=Value pairs; the message says which part."""


def parameters(extra_conf: str) -> Parameters:
    """The pairs by key, in the user's spelling; values of a key that is there twice are joined by commas."""
    found: Parameters = {}
    spelling: dict[str, str] = {}
    for pair in extra_conf.split():
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise ConfError(f"extraConf: {pair!r} is not Key=Value")
        if value:
            key = spelling.setdefault(key.lower(), key)
            found[key] = f"{found[key]},{value}" if key in found else value
    return found


def value_of(parameters: Parameters, key: str) -> str:
    """What a key says, however it is spelled; empty if it says nothing."""
    return next((value for name, value in parameters.items() if name.lower() == key.lower()), "")


def features(slurm_nodeset: str, parameters: Parameters) -> list[str]:
    """The features of every node: the NodeSet's name, by which slurm.conf finds its nodes, and the user's."""
    given = [value for key, value in parameters.items() if key.lower() in _FEATURES]
    return _sorted([slurm_nodeset, *(part for value in given for part in value.split(","))])


def argument(slurm_nodeset: str, parameters: Parameters) -> str:
    """The value of `--conf`, quoted for a shell."""
    words = {key: value for key, value in parameters.items() if key.lower() not in {*_FEATURES, _TOPOLOGY}}
    words["Features"] = ",".join(features(slurm_nodeset, parameters))
    text = " ".join(f"{key}={words[key]}" for key in sorted(words, key=str.lower))
    topology = value_of(parameters, _TOPOLOGY)
    if topology:
        return _quoted(f"{text} Topology={topology}")
    return f"""{_quoted(f"{text} Topology=")}"$SLINKY_TOPOLOGY"''"""


def _quoted(text: str) -> str:
    """In single quotes for the shell; `$` doubled, as the kubelet puts in variables for $(NAME)."""
    return "'" + text.replace("'", "'\"'\"'").replace("$", "$$") + "'"


def _sorted(words: Iterable[str]) -> list[str]:
    return sorted({word.strip() for word in words} - {""})
