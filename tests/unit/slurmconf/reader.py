"""Slurm's own way to read a file of `Key=Value` lines, to see what it makes of those that we write."""

import re

_PAIR = re.compile(r'[ \t]*([A-Za-z0-9_.]+)[ \t]*=[ \t]*(?:"([^"]*)"|(\S+))(?=\s|$)')


class UnreadableError(Exception):
    """slurmctld would refuse to start."""


def read(text: str) -> list[list[tuple[str, str]]]:
    """The pairs of every line that says something."""
    return [_pairs(line) for line in _lines(text) if line.strip()]


def _lines(text: str) -> list[str]:
    joined, begun = [], ""
    for line in text.split("\n"):
        cut = _without_comment(line)
        backslashes = len(cut.rstrip()) - len(cut.rstrip().rstrip("\\"))
        if backslashes % 2:
            begun += cut.rstrip()[:-1]
            continue
        joined.append(re.sub(r"\\(.)", r"\1", begun + cut))
        begun = ""
    return [*joined, begun]


def _without_comment(line: str) -> str:
    backslashes = 0
    for index, char in enumerate(line):
        if char == "#" and backslashes % 2 == 0:
            return line[:index]
        backslashes = backslashes + 1 if char == "\\" else 0
    return line


def _pairs(line: str) -> list[tuple[str, str]]:
    pairs, rest = [], line
    while rest.strip():
        match = _PAIR.match(rest)
        if match is None:
            raise UnreadableError(line)
        pairs.append((match[1], match[2] if match[2] is not None else match[3]))
        rest = rest[match.end() :]
    return pairs
