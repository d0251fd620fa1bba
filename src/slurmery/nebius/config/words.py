r"""What all the files share: lines joined without a last line break, comments, and texts that users wrote.

words       pieces that files separate by white space: they must hold none, nor `#` or quotes
one_line    a piece in the file's own language: one line, whatever it says
settings    a text in slurm.conf's own language: lines of `Key=Value`, comments, includes
"""

import re
from collections.abc import Iterable
from typing import Final

from slurmery.slurmconf.text import TextError, raw

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NOT_IN_A_WORD: Final = re.compile(r"[\s#\"'\\]")
_SETTING: Final = re.compile(r"\s*(#.*|[A-Za-z]\w*\s*=.*|include\s+\S+.*)?", re.IGNORECASE)

GAP: Final = "#"
# Nothing in these files survives a change of what they are made of.
MANAGED: Final = (
    "###",
    "# This file is generated. Changes made here are overwritten.",
    "###",
)


def file(lines: Iterable[str]) -> str:
    """The whole file."""
    return "\n".join(lines)


def comment(text: str) -> str:
    """A comment, written like those of the contract."""
    return f"#{text}"


def word(field: str, given: str) -> str:
    """A piece of a line whose pieces are separated by white space."""
    if match := _CONTROL.search(given) or _NOT_IN_A_WORD.search(given):
        raise TextError(f"{field} must not contain white space, quotes, backslashes or '#' ({match[0]!r})")
    return given


def one_line(field: str, given: str) -> str:
    """A line, or the rest of one, that a user wrote in the file's own language."""
    text = given.strip()
    if match := _CONTROL.search(text.replace("\t", " ")):
        raise TextError(f"{field} must be one line, without control characters ({match[0]!r})")
    if text.endswith("\\"):
        raise TextError(f"{field} must not end in a backslash, which would join the next line to it")
    return text


def settings(field: str, given: str) -> list[str]:
    """The lines of a text of settings; a line that Slurm could not read would keep it from starting."""
    lines = raw(field, given.replace("\r\n", "\n"))
    joined = False
    for number, line in enumerate(lines, start=1):
        if not joined and not _SETTING.fullmatch(line):
            raise TextError(
                f"{field}, line {number}, must be Key=Value, an include or a comment: {line[:80]!r}"
            )
        joined = line.endswith("\\")
    if joined:
        raise TextError(f"{field} must not end in a backslash, which would join the next line to it")
    return lines
