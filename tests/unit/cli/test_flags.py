import contextlib
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.cli.flags import Flag, Foreign, Note, UsageError, read, table
from slurmery.cli.values import Count, Names

SEA = "Sea"


class Course(StrEnum):
    NORTH = "north"
    SOUTH = "south"


@dataclass(frozen=True, kw_only=True)
class ShipSettings:
    crew: Annotated[Count, Flag("Hands on deck.", SEA, also=("hands",), env="SHIP_CREW")] = 2
    anchor: Annotated[bool, Flag("Drop the anchor.", SEA)] = False
    watch: Annotated[timedelta, Flag("Length of a watch.", SEA)] = timedelta(hours=4)
    ports: Annotated[Names, Flag("Where to call.", SEA, env="SHIP_PORTS")] = ()
    captain: Annotated[str, Flag("Who commands.", SEA, names=(), env="SHIP_CAPTAIN")] = "Ahab"
    password: Annotated[str, Flag("What opens the safe.", SEA)] = field(default="", repr=False)
    steam: Annotated[bool, Flag("Use steam.", SEA, moot="this is a sailing ship")] = False

    def __post_init__(self) -> None:
        if self.anchor and self.ports:
            raise ValueError("--anchor and --ports exclude each other")


@dataclass(frozen=True, kw_only=True)
class VoyageSettings:
    course: Annotated[Course, Flag("Where to.", SEA, names=(), word=True)]
    cargo: Annotated[str, Flag("What to carry.", SEA, env="CARGO")]


def sail(*arguments: str, **environ: str) -> ShipSettings:
    return read(ShipSettings, arguments, environ).settings


def complaints(*arguments: str, settings: type[Any] = ShipSettings, **environ: str) -> tuple[str, ...]:
    with pytest.raises(UsageError) as caught:
        read(settings, arguments, environ)
    return caught.value.problems


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ShipSettings()),
        (("--crew=3",), ShipSettings(crew=3)),
        (("-crew=3",), ShipSettings(crew=3)),
        (("--crew", "3"), ShipSettings(crew=3)),
        (("-crew", "3"), ShipSettings(crew=3)),
        (("--hands", "3"), ShipSettings(crew=3)),
        (("--crew=3", "--hands=4"), ShipSettings(crew=4)),
        (("--anchor",), ShipSettings(anchor=True)),
        (("-anchor", "--crew=9"), ShipSettings(anchor=True, crew=9)),
        (("--anchor=true",), ShipSettings(anchor=True)),
        (("--anchor", "--anchor=false"), ShipSettings()),
        (("--watch=1h30m",), ShipSettings(watch=timedelta(minutes=90))),
        (("--ports=a,b",), ShipSettings(ports=("a", "b"))),
        (("--ports=",), ShipSettings()),
        (("--password", "--crew=3"), ShipSettings(password="--crew=3")),
        (("--password=a=b",), ShipSettings(password="a=b")),
        (("--crew=3", "--"), ShipSettings(crew=3)),
    ],
)
def test_flags_are_read_as_go_reads_them(arguments: tuple[str, ...], expected: ShipSettings) -> None:
    assert sail(*arguments) == expected


def test_a_flag_wins_over_its_variable_and_a_variable_over_the_default() -> None:
    assert sail(SHIP_CREW="7", SHIP_CAPTAIN="Nemo") == ShipSettings(crew=7, captain="Nemo")
    assert sail("--hands=5", SHIP_CREW="7").crew == 5
    assert sail(SHIP_CREW="").crew == 2


def test_the_defaults_of_a_link_give_way_to_variables_and_flags() -> None:
    def crew(*arguments: str, **environ: str) -> int:
        return read(ShipSettings, arguments, environ, defaults={"crew": "9"}).settings.crew

    assert (crew(), crew(SHIP_CREW="7"), crew("--crew=5", SHIP_CREW="7")) == (9, 7, 5)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert complaints(
        "--crwe", "5", "--watch=soon", "--anchor", "false", "---", "--ports", SHIP_CREW="none"
    ) == (
        "--crwe is not a flag of this program; did you mean --crew?",
        "'false' belongs to no flag; a boolean is written --x=false",
        "--- is not a flag of this program",
        "--ports needs a value: list",
        "SHIP_CREW=none: must be a whole number of at least 1",
        "--watch=soon: must be a duration longer than nothing, such as 30s, 15m or 1h30m",
    )


def test_settings_that_contradict_each_other_are_refused() -> None:
    assert complaints("--anchor", "--ports=a") == ("--anchor and --ports exclude each other",)


def test_what_is_required_is_asked_for_with_all_its_names() -> None:
    assert complaints(settings=VoyageSettings) == (
        "north|south is required",
        "--cargo is required (or CARGO in the environment)",
    )
    assert complaints("south", "--cargo=", settings=VoyageSettings) == (
        "--cargo is required (or CARGO in the environment)",
    )


def test_a_word_is_read_wherever_it_stands() -> None:
    wanted = VoyageSettings(course=Course.SOUTH, cargo="tea")
    for arguments in (("south", "--cargo=tea"), ("--cargo", "tea", "south"), ("--cargo=tea", "--", "south")):
        assert read(VoyageSettings, arguments, {}).settings == wanted
    assert complaints("west", "east", "--cargo=tea", settings=VoyageSettings) == (
        "'east' belongs to no flag",
        "west: must be one of north, south",
    )


def test_a_flag_of_another_program_is_accepted_and_noted() -> None:
    elsewhere = {one.names[0]: Foreign(one, ("voyage", "yard")) for one in table(VoyageSettings) if one.names}
    reading = read(ShipSettings, ("--cargo", "tea", "--crew=3"), {}, elsewhere=elsewhere)
    assert reading.settings == ShipSettings(crew=3)
    assert reading.notes == (Note("--cargo", "acts in voyage and yard, not here"),)


def test_a_flag_without_effect_is_noted_when_it_asks_for_something_else() -> None:
    assert read(ShipSettings, ("--steam=false",), {}).notes == ()
    assert read(ShipSettings, ("--steam",), {}).notes == (Note("--steam=true", "this is a sailing ship"),)


def test_secrets_are_not_shown() -> None:
    assert "mellon" not in repr(sail("--password=mellon"))


TOKENS = st.one_of(
    st.text(max_size=8),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(("-", "--", "---", "")),
        st.sampled_from(("crew", "anchor", "watch", "ports", "steam", "course", "help", "")),
        st.one_of(st.just(""), st.text(max_size=6).map("={}".format)),
    ),
)


@given(st.lists(TOKENS, max_size=6), st.dictionaries(st.sampled_from(("SHIP_CREW", "SHIP_PORTS")), st.text()))
def test_no_command_line_breaks_the_reader(arguments: list[str], environ: dict[str, str]) -> None:
    for settings in (ShipSettings, VoyageSettings):
        with contextlib.suppress(UsageError):
            assert isinstance(read(settings, arguments, environ).settings, settings)


@given(
    st.builds(
        ShipSettings,
        crew=st.integers(1, 999),
        anchor=st.booleans(),
        watch=st.timedeltas(timedelta(microseconds=1), timedelta(days=99)),
        password=st.text(),
        steam=st.booleans(),
    ),
    st.booleans(),
    st.sampled_from(("-", "--")),
)
def test_settings_that_are_written_out_are_read_back(made: ShipSettings, apart: bool, dashes: str) -> None:
    arguments: list[str] = []
    for one in table(ShipSettings):
        text = one.kind.write(getattr(made, one.field))
        if one.names and one.field != "captain":
            name = f"{dashes}{one.names[0]}"
            arguments += [name, text] if apart and not one.boolean else [f"{name}={text}"]
    assert read(ShipSettings, arguments, {}).settings == made
