"""The kinds of values that flags take: how a text becomes a value, and a value a text again.

A kind is found by the annotation of a setting (`Count`, `timedelta`, `Address | None`, ...), so a setting
declares its type once. Go's spellings are understood: its booleans, its durations, its addresses.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

from slurmery.api.duration import PART, duration
from slurmery.kube.health import Address
from slurmery.kube.logs import Format, Times

T = TypeVar("T")

Names = tuple[str, ...]
Labels = tuple[tuple[str, str], ...]


class Level(StrEnum):
    """From where on log lines are written."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True)
class Switches:
    """Parts that are on: `a,b` are these alone, `*,-a` is all but a, nothing is all."""

    entries: Names = ()

    def on(self, name: str) -> bool:
        """Whether the part of this name is on."""
        if f"-{name}" in self.entries:
            return False
        chosen = [entry for entry in self.entries if not entry.startswith("-")]
        return not chosen or "*" in chosen or name in chosen

    def confine(self, names: Names) -> None:
        """Raise ValueError if something is switched that is none of `names`."""
        if unknown := [entry for entry in self.entries if entry.removeprefix("-") not in {*names, "*"}]:
            raise ValueError(f"there is no {', '.join(unknown)}; there are {', '.join(names)}")


ALL: Final = Switches()


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of value. `read` raises ValueError with what must be, in words that follow the name."""

    noun: str
    read: Callable[[str], T]
    write: Callable[[T], str]


_TRUE: Final = {"1", "t", "T", "true", "TRUE", "True"}
_FALSE: Final = {"0", "f", "F", "false", "FALSE", "False"}
_LEVELS: Final = {"warning": Level.WARN} | dict.fromkeys(("dpanic", "panic", "fatal"), Level.ERROR)


def _bool(text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return text in _TRUE


def _number(text: str, lowest: int, highest: int, words: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise ValueError(words) from None
    if not lowest <= number <= highest:
        raise ValueError(words)
    return number


def _count(text: str) -> int:
    return _number(text, 1, 2**31 - 1, "must be a whole number of at least 1")


def _whole(text: str) -> int:
    return _number(text, 0, 2**31 - 1, "must be a whole number")


def _port(text: str) -> int:
    return _number(text, 1, 65535, "must be a port: 1 to 65535")


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise ValueError("must be a percentage: 0 to 100")
    return number


def _duration(text: str) -> timedelta:
    words = "must be a duration longer than nothing, such as 30s, 15m or 1h30m"
    if not re.fullmatch(rf"\+?(?:{PART})+", text, re.ASCII):
        raise ValueError(words)
    try:
        length = duration(text)
    except OverflowError:
        raise ValueError(words) from None
    if not length:
        raise ValueError(words)
    return length


def _duration_text(length: timedelta) -> str:
    seconds, micros = divmod(round(length / timedelta(microseconds=1)), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    parts = {"h": hour, "m": minute, "s": second, "ms": micros // 1000, "us": micros % 1000}
    return "".join(f"{number}{unit}" for unit, number in parts.items() if number)


def _address(text: str) -> Address | None:
    # A bare port is what `--metrics-port` takes.
    return Address.parse(f":{text}" if text.isdecimal() and text != "0" else text)


def _address_text(address: Address | None) -> str:
    if address is None:
        return "0"
    host = address.host or ""
    return f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        good = False
    if not good:
        raise ValueError("must be an address such as http://localhost:6820")
    return text.rstrip("/")


def _names(text: str) -> Names:
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _namespaces(text: str) -> Names:
    """None means all, and so does a star."""
    names = _names(text)
    return () if "*" in names else names


def _switches(text: str) -> Switches:
    return Switches(_names(text.lower()))


def _labels(text: str) -> Labels:
    pairs = tuple(tuple(map(str.strip, name.partition("="))) for name in _names(text))
    if not all(key and equals for key, equals, _ in pairs):
        raise ValueError("must be labels such as env=prod,tier=critical")
    return tuple((key, value) for key, _, value in pairs)


def _level(text: str) -> Level:
    """Zap's levels too: 1 and above are ever more debug. An unknown one is info, as it always was."""
    if text.isdecimal() and int(text[:9]) > 0:
        return Level.DEBUG
    word = text.lower()
    return _LEVELS.get(word) or next((level for level in Level if level == word), Level.INFO)


def _format(text: str) -> Format:
    if text in {"plain", "console"}:
        return Format.PLAIN
    if text != "json":
        raise ValueError("must be json or plain")
    return Format.JSON


def _times(text: str) -> Times:
    try:
        return Times.ISO8601 if text in {"", "rfc3339", "rfc3339nano"} else Times(text)
    except ValueError:
        raise ValueError(f"must be one of {', '.join(Times)}, rfc3339, rfc3339nano") from None


def _choice(choices: type[StrEnum]) -> Kind[StrEnum]:
    def read(text: str) -> StrEnum:
        try:
            return choices(text)
        except ValueError:
            raise ValueError(f"must be one of {', '.join(choices)}") from None

    return Kind("|".join(choices), read, str)


Count = Annotated[int, Kind("count", _count, str)]
Whole = Annotated[int, Kind("number", _whole, str)]
Port = Annotated[int, Kind("port", _port, str)]
Percent = Annotated[float, Kind("percent", _percent, str)]
Url = Annotated[str, Kind("url", _url, str)]
Namespaces = Annotated[Names, Kind("list", _namespaces, ",".join)]

_KINDS: Final[dict[Any, Kind[Any]]] = {
    bool: Kind("", _bool, lambda value: str(value).lower()),
    bool | None: Kind("", _bool, lambda value: "" if value is None else str(value).lower()),
    str: Kind("text", str, str),
    timedelta: Kind("duration", _duration, _duration_text),
    Address | None: Kind("address", _address, _address_text),
    Path: Kind("path", Path, str),
    Path | None: Kind("path", lambda text: Path(text) if text else None, lambda path: str(path or "")),
    Names: Kind("list", _names, ",".join),
    Labels: Kind("labels", _labels, lambda labels: ",".join(f"{key}={value}" for key, value in labels)),
    Switches: Kind(
        "list", lambda text: Switches(_names(text.lower())), lambda value: ",".join(value.entries)
    ),
    Level: Kind("level", _level, str),
    Format: Kind("json|plain", _format, str),
    Times: Kind("|".join(Times), _times, str),
}


def kind_of(annotated: Any) -> Kind[Any]:
    """The kind of value that a setting with this annotation takes."""
    said = next((mark for mark in annotated.__metadata__ if isinstance(mark, Kind)), None)
    return said or _KINDS.get(annotated.__origin__) or _choice(annotated.__origin__)
