"""Command lines as Go programs read them, from one declaration per program.

A program's settings are a frozen dataclass whose fields say everything about their flags; parsing, help,
documentation and tests come from it:

    @dataclass(frozen=True, kw_only=True)
    class ExampleSettings(ServeSettings):
        jail_path: Annotated[Path, Flag("Where the jail is mounted.", SLURM)] = Path("/mnt/jail")
        cluster_name: Annotated[str, Flag("Name of the cluster.", SLURM, env="CLUSTER_NAME")]

A flag is written `-x` or `--x`, with its value as `--x=y` or `--x y`; a boolean is `--x`, `--x=true` or
`--x=false`. The last one wins. A flag wins over its environment variable; an empty variable is none at all.
Unlike Go, a stray word is an error: Go stops reading there, and drops the rest without a sound.
"""

import dataclasses
import difflib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from slurmery.cli.values import Kind, kind_of

S = TypeVar("S")


class UsageError(Exception):
    """The command line or the environment cannot be understood; `problems` says all that is wrong."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Flag:
    """What the annotation of a setting says about its flag."""

    help: str
    group: str
    # Its names; by default the field's, with dashes. None at all: the environment alone has it.
    names: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()
    env: str = ""
    # Why it changes nothing here.
    moot: str = ""
    # It is a bare word, not a flag.
    word: bool = False


@dataclass(frozen=True)
class Setting:
    """One line of a program's table."""

    field: str
    kind: Kind[Any]
    default: Any
    flag: Flag

    @property
    def names(self) -> tuple[str, ...]:
        """All spellings; the first is its name."""
        own = (self.field.replace("_", "-"),) if self.flag.names is None else self.flag.names
        return () if self.flag.word else own + self.flag.also

    @property
    def label(self) -> str:
        """What to call it in a sentence."""
        if self.flag.word:
            return self.kind.noun
        return f"--{self.names[0]}" if self.names else self.flag.env

    @property
    def boolean(self) -> bool:
        """Whether it stands without a value."""
        return not self.kind.noun

    @property
    def required(self) -> bool:
        """Whether the program does not start without it."""
        return self.default is dataclasses.MISSING

    @property
    def default_text(self) -> str:
        """The default as it would be written; nothing if there is none."""
        return "" if self.required else self.kind.write(self.default)


def table(settings: type) -> tuple[Setting, ...]:
    """All settings of a program, in the order of their declaration."""
    return tuple(_setting(field) for field in dataclasses.fields(settings))


def _setting(field: "dataclasses.Field[Any]") -> Setting:
    annotated: Any = field.type
    [flag] = (mark for mark in annotated.__metadata__ if isinstance(mark, Flag))
    return Setting(field.name, kind_of(annotated), field.default, flag)


class Foreign(NamedTuple):
    """A flag of other programs, which charts may give to this one as well."""

    setting: Setting
    programs: tuple[str, ...]


class Note(NamedTuple):
    """Something that was accepted but does nothing here."""

    flag: str
    reason: str


@dataclass(frozen=True)
class Reading(Generic[S]):
    """The settings, and what to tell about them."""

    settings: S
    notes: tuple[Note, ...]


class _Given(NamedTuple):
    setting: Setting
    text: str
    said: str


def read(
    settings: type[S],
    arguments: Sequence[str],
    environ: Mapping[str, str],
    *,
    defaults: Mapping[str, str] | None = None,
    elsewhere: Mapping[str, Foreign] | None = None,
) -> Reading[S]:
    """The settings that a command line and an environment ask for; `defaults` are texts by field.

    Raises UsageError with everything that is wrong.
    """
    known = table(settings)
    line = _Line(known, elsewhere or {})
    line.scan(arguments)
    given: dict[str, _Given] = {}
    for setting in known:
        if text := (defaults or {}).get(setting.field):
            given[setting.field] = _Given(setting, text, "")
        if setting.flag.env and (text := environ.get(setting.flag.env)):
            given[setting.field] = _Given(setting, text, f"{setting.flag.env}={text}")
    given |= line.given
    values, problems = _values(given.values())
    problems = [*line.problems, *problems, *_missing(known, given)]
    if not problems:
        try:
            made = settings(**values)
        except ValueError as error:
            problems = [str(error)]
        else:
            return Reading(made, (*line.notes, *_moot(given.values(), values)))
    raise UsageError(problems)


def _values(given: Iterable[_Given]) -> tuple[dict[str, Any], list[str]]:
    values, problems = dict[str, Any](), list[str]()
    for setting, text, said in given:
        try:
            values[setting.field] = setting.kind.read(text)
        except ValueError as error:
            problems.append(f"{said}: {error}")
    return values, problems


def _missing(known: Iterable[Setting], given: Mapping[str, _Given]) -> list[str]:
    return [
        f"{setting.label} is required"
        + (f" (or {setting.flag.env} in the environment)" if setting.flag.env and setting.names else "")
        for setting in known
        if setting.required and not (setting.field in given and given[setting.field].text)
    ]


def _moot(given: Iterable[_Given], values: Mapping[str, Any]) -> list[Note]:
    """Asking for what we do anyway deserves no remark."""
    return [
        Note(said, setting.flag.moot)
        for setting, _, said in given
        if setting.flag.moot and values[setting.field] != setting.default
    ]


class _Line:
    """One command line being read."""

    def __init__(self, known: Iterable[Setting], elsewhere: Mapping[str, Foreign]) -> None:
        self.given: dict[str, _Given] = {}
        self.notes: list[Note] = []
        self.problems: list[str] = []
        self._words = deque(one for one in known if one.flag.word)
        self._own = {name: one for one in known for name in one.names}
        self._elsewhere = elsewhere

    def scan(self, arguments: Sequence[str]) -> None:
        rest = deque(arguments)
        while rest:
            argument = rest.popleft()
            if argument == "--":
                while rest:
                    self._word(rest.popleft())
            elif argument.startswith("-") and argument != "-":
                self._flag(argument, rest)
            else:
                self._word(argument)

    def _word(self, word: str) -> None:
        if self._words:
            one = self._words.popleft()
            self.given[one.field] = _Given(one, word, word)
        else:
            hint = "; a boolean is written --x=false" if word.lower() in {"true", "false"} else ""
            self.problems.append(f"{word!r} belongs to no flag{hint}")

    def _flag(self, argument: str, rest: deque[str]) -> None:
        name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
        foreign = self._elsewhere.get(name)
        found = self._own.get(name) or (foreign and foreign.setting)
        if not found:
            self._unknown(argument, name, rest if not equals else deque())
            return
        if not equals:
            if not found.boolean and not rest:
                self.problems.append(f"--{name} needs a value: {found.kind.noun}")
                return
            text = "true" if found.boolean else rest.popleft()
        given = _Given(found, text, f"--{name}={text}")
        if name in self._own:
            self.given[found.field] = given
        elif foreign:
            self.problems += _values([given])[1]
            self.notes.append(Note(f"--{name}", f"acts in {' and '.join(foreign.programs)}, not here"))

    def _unknown(self, argument: str, name: str, rest: deque[str]) -> None:
        near = difflib.get_close_matches(name, [*self._own, *self._elsewhere], n=1)
        hint = f"; did you mean --{near[0]}?" if near else ""
        self.problems.append(f"{argument.partition('=')[0]} is not a flag of this program{hint}")
        # What follows is likely its value: one mistake, one complaint.
        if rest and not rest[0].startswith("-"):
            rest.popleft()
