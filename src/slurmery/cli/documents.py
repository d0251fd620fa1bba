"""Manifests in files: YAML read the way kubectl reads it.

PyYAML follows YAML 1.1 to the letter; Kubernetes does not. Here as there, `01:00:00` and `2026-01-01` are
texts, and a key that is given twice is a mistake.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_STDIN = "-"
_INT = "tag:yaml.org,2002:int"
_TEXT = "tag:yaml.org,2002:str"
_FLOAT = "tag:yaml.org,2002:float"
_OTHERWISE = {"tag:yaml.org,2002:timestamp", _INT, _FLOAT}


class DocumentError(Exception):
    """A file cannot be read as YAML; the message says where and why."""


@dataclass(frozen=True)
class Document:
    """One manifest, with where it was found."""

    origin: str
    manifest: dict[str, Any]


class _Loader(yaml.CSafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice := next((key for key, times in keys.items() if times > 1), None):
            raise yaml.constructor.ConstructorError(None, None, f"{twice!r} is given twice", node.start_mark)
        self.flatten_mapping(node)
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                key.tag = _TEXT
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver(
    _INT, re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*|[0-9]+[eE][-+]?[0-9]+)$"),
    list("-+0123456789."),
)


def documents(name: str) -> Iterator[Document]:
    """All manifests of a file, or of standard input for `-`. Raises DocumentError."""
    shown = "standard input" if name == _STDIN else name
    try:
        text = sys.stdin.read() if name == _STDIN else Path(name).read_text(encoding="utf-8")
        parsed = list(yaml.load_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise DocumentError(f"{shown}: {where}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DocumentError(f"{shown}: not YAML: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise DocumentError(f"{shown}: {error.strerror}") from None
    for number, content in enumerate(parsed, start=1):
        if content is not None:
            yield from _manifests(f"{shown}: document {number}", content)


def _manifests(origin: str, content: Any) -> Iterator[Document]:
    if not isinstance(content, dict):
        raise DocumentError(f"{origin}: must be an object with apiVersion and kind")
    if content.get("kind") == "List" and isinstance(content.get("items"), list):
        for number, item in enumerate(content["items"], start=1):
            yield from _manifests(f"{origin}, item {number}", item)
    else:
        yield Document(origin, content)
