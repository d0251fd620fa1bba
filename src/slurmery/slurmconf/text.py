r"""Files of `Key=Value` lines in sections, as slurmctld and slurmdbd read them.

    #
    ### GENERAL ###
    ClusterName=blue
    NodeSet=gpu Feature=gpu

What Slurm's reader does to a line decides what a value may be: `\` at the end joins the next line, an
unescaped `#` starts a comment, `\` escapes one character, a value with white space needs double quotes, and
a double quote cannot be escaped. So `value` quotes and escapes, and refuses what cannot be written: no value
can begin a line, a comment or a key of its own.

    TextError   a value or text that does not fit; the message names its key
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPECIAL = re.compile(r"([\\#])")
_HEADING = re.compile(r"### (.+) ###")
_SETTING = re.compile(r"\s*([\w.]+)\s*=\s*(\S+)")


class TextError(ValueError):
    """A value or text that cannot be written."""


def value(key: str, given: str | int) -> str:
    """A value as it is written behind `key=`."""
    text = str(given)
    if match := _CONTROL.search(text):
        raise TextError(f"{key} must not contain a line break or control character ({match[0]!r})")
    spaced = not text or any(char.isspace() for char in text)
    if text.startswith('"') or (spaced and '"' in text):
        raise TextError(f"{key} must not begin with a double quote, nor have one together with a space")
    escaped = _SPECIAL.sub(r"\\\1", text)
    return f'"{escaped}"' if spaced else escaped


def entry(key: str, given: str | int) -> str:
    """A line with one setting."""
    return f"{key}={value(key, given)}"


def record(*settings: tuple[str, str | int]) -> str:
    """A line with several settings, such as `NodeSet=gpu Feature=gpu`."""
    return " ".join(entry(key, given) for key, given in settings)


def section(title: str, lines: Iterable[str]) -> list[str]:
    """The lines under their title; nothing without lines."""
    body = list(lines)
    return ["#", f"### {title} ###", *body] if body else []


def raw(key: str, text: str) -> list[str]:
    """The lines of a text that a user wrote in the file's own language, as they are."""
    if match := _CONTROL_IN_TEXT.search(text):
        raise TextError(f"{key} must not contain a control character ({match[0]!r})")
    return text.rstrip("\n").split("\n") if text.strip() else []


def before(text: str, title: str) -> str:
    """The part of a file ahead of a section; all of it if there is no such section."""
    return text.partition(f"\n### {title} ###\n")[0]


def without(text: str, *titles: str) -> str:
    """The file without these sections."""
    kept: list[str] = []
    within = ""
    for line in text.splitlines(keepends=True):
        heading = _HEADING.fullmatch(line.rstrip("\n"))
        within = heading[1] if heading else within
        if within not in titles:
            kept.append(line)
    return "".join(kept)


def file(*sections: Iterable[str]) -> str:
    """The whole file."""
    return "".join(f"{line}\n" for lines in sections for line in lines)


def lines(text: str) -> list[str]:
    """The lines that say something, with continued lines joined and comments cut off."""
    joined: list[str] = []
    begun = ""
    for line in text.replace("\r", "").split("\n"):
        begun += line.partition("#")[0].rstrip()
        if begun.endswith("\\"):
            begun = begun.removesuffix("\\")
            continue
        joined.append(begun)
        begun = ""
    return [line for line in [*joined, begun] if line.strip()]


def settings(text: str) -> dict[str, str]:
    """The settings by lower-cased key: the last of each, of those with one word for a value."""
    found = (_SETTING.fullmatch(line) for line in lines(text))
    return {match[1].lower(): match[2].strip('"') for match in found if match}


def united(ours: Mapping[str, Sequence[str]], text: str) -> list[str]:
    """Lines that state our options again, with the user's, where the user's text sets the same key.

    Slurm takes the last line of a key, so the user's line alone would take our options away. Ours win over
    the user's of the same name. Names of options are lower-cased, what they are set to is not.
    """
    theirs = settings(text)
    return [
        f"{key}={','.join(_union(ours[key], theirs[key.lower()]))}"
        for key in sorted(ours)
        if key.lower() in theirs
    ]


def _union(ours: Sequence[str], theirs: str) -> list[str]:
    options = [_lowered(option) for option in theirs.split(",") if option]
    union = {option.partition("=")[0].lower(): option for option in [*options, *ours]}
    return sorted(union.values())


def _lowered(option: str) -> str:
    name, equals, setting = option.partition("=")
    return name.lower() + equals + setting
