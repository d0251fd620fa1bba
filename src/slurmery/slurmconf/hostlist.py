"""Hostlists: `rack[1-2]n[01-10],login` in one string, and back.

Grammar and zero padding follow `scontrol show hostnames` and `scontrol show hostlist`. Where Slurm guesses
(`n[1 - 2]`, `n]1`, nested brackets) this module refuses, and an expression may not grow beyond `MAX_HOSTS`.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator

MAX_HOSTS = 65_536

# Slurm counts in unsigned 64 bits; a longer run of digits is part of the name.
_DIGITS = "[0-9]{1,18}"
_TOKEN = re.compile(r"\[(?P<ranges>[^\[\]]*)\]|(?P<gap>[\s,]+)|(?P<text>[^\s,\[\]]+)|(?P<stray>.)", re.DOTALL)
_RANGE = re.compile(rf"({_DIGITS})(?:-({_DIGITS}))?")
_NUMBERED = re.compile(rf"(?P<prefix>|.*[^0-9])(?P<digits>{_DIGITS})", re.DOTALL)
_CHUNKS = re.compile("([0-9]+)")


class HostlistError(ValueError):
    """The text is not a hostlist, or it stands for too many hosts."""


def expand(text: str, limit: int = MAX_HOSTS) -> tuple[str, ...]:
    """Every host that `text` names, in order, repeats kept.

    With three or more bracket pairs in one name the hosts are Slurm's, in plain reading order.
    """
    hosts: list[str] = []
    for pattern in _patterns(text, limit):
        count = math.prod(len(choices) for choices in pattern)
        if len(hosts) + count > limit:
            raise HostlistError(f"hostlist stands for more than {limit} hosts: {_shown(text)}")
        hosts.extend("".join(parts) for parts in itertools.product(*pattern))
    return tuple(hosts)


def compress(hosts: Iterable[str]) -> str:
    """Slurm's spelling, order and repeats kept; sort the hosts by `natural` for a canonical one."""
    pieces: list[str] = []
    for (prefix, numbered), group in itertools.groupby(map(_numbered, hosts), key=lambda item: item[:2]):
        numbers = [digits for *_, digits in group]
        pieces += [_bracketed(prefix, numbers)] if numbered else [prefix] * len(numbers)
    return ",".join(pieces)


def natural(host: str) -> tuple[tuple[str, int, int], ...]:
    """Sort key that puts n2 before n10, n1 before n01, and what can share brackets side by side."""
    prefix, _, number = _numbered(host)
    chunks = _CHUNKS.split(prefix)
    pairs = itertools.zip_longest(chunks[::2], chunks[1::2], fillvalue="")
    return (
        *((text, len(digits), int(digits[-18:] or 0)) for text, digits in pairs),
        ("", len(number), int(number or 0)),
    )


def _patterns(text: str, limit: int) -> Iterator[list[list[str]]]:
    """One list of choices per piece of each name: `a[1-2]b` gives [[a], [1, 2], [b]]."""
    pattern: list[list[str]] = []
    for token in _TOKEN.finditer(text):
        if token["stray"]:
            raise HostlistError(f"unpaired bracket in hostlist: {_shown(text)}")
        if token["gap"]:
            if pattern:
                yield pattern
            pattern = []
        elif token["ranges"] is not None:
            pattern.append(_numbers(token["ranges"], limit))
        else:
            pattern.append([token["text"]])
    if pattern:
        yield pattern


def _numbers(ranges: str, limit: int) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise HostlistError(f"not a range of numbers in hostlist: {_shown(part)!r}")
        first, last = match[1], match[2] or match[1]
        count = int(last) - int(first) + 1
        if count < 1:
            raise HostlistError(f"range runs backwards in hostlist: {part}")
        if len(numbers) + count > limit:
            raise HostlistError(f"range stands for more than {limit} hosts: {part}")
        numbers.extend(str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    return numbers


def _numbered(host: str) -> tuple[str, bool, str]:
    if not host or re.search(r"[\s,\[\]]", host):
        raise HostlistError(f"not a host name: {_shown(host)!r}")
    match = _NUMBERED.fullmatch(host)
    return (match["prefix"], True, match["digits"]) if match else (host, False, "")


def _bracketed(prefix: str, numbers: list[str]) -> str:
    if len(numbers) == 1:
        return prefix + numbers[0]
    runs: list[list[str]] = []
    for number in numbers:
        # The next number belongs to the run if padding it like the run's first gives the same digits.
        if runs and number == str(int(runs[-1][-1]) + 1).zfill(len(runs[-1][0])):
            runs[-1].append(number)
        else:
            runs.append([number])
    return f"{prefix}[{','.join(run[0] if len(run) == 1 else f'{run[0]}-{run[-1]}' for run in runs)}]"


def _shown(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
