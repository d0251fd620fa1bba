"""What a program can be told, in words: `--help`, and the reference in the documentation."""

import textwrap
from collections.abc import Iterator, Mapping

from slurmery.cli.flags import Setting, table
from slurmery.cli.programs import Program

_WIDTH = 100
_SYNTAX = (
    "Flags are written -x or --x, with a value --x=y or --x y. A flag wins over its environment variable."
)


def usage(program: Program, defaults: Mapping[str, str] | None = None) -> str:
    """The help text; `defaults` are those of the link that the program was started by."""
    words = "".join(f" {one.kind.noun}" for one in table(program.settings) if one.flag.word)
    lines = [f"Usage: slurmery {program.name}{words} [flags]", "", f"{program.summary}.", "", _SYNTAX]
    for group, settings in grouped(program).items():
        lines += ["", group]
        for setting in settings:
            lines += _entry(setting, (defaults or {}).get(setting.field, setting.default_text))
    return "\n".join(lines)


def grouped(program: Program) -> dict[str, list[Setting]]:
    """The settings by group: the program's own first, those that all programs share last."""
    groups: dict[str, list[Setting]] = {}
    for setting in table(program.settings):
        groups.setdefault(setting.flag.group, []).append(setting)
    return dict(reversed(groups.items()))


def _entry(setting: Setting, default: str) -> Iterator[str]:
    facts = "; ".join(_facts(setting, default))
    yield f"  {_spelled(setting)}" + (f"  ({facts})" if facts else "")
    yield textwrap.fill(_meaning(setting), _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _spelled(setting: Setting) -> str:
    noun = setting.kind.noun
    if setting.names:
        return f"{setting.label} {noun}".rstrip()
    return setting.label if setting.flag.word else f"{setting.label}={noun or 'true|false'}"


def _facts(setting: Setting, default: str) -> Iterator[str]:
    if setting.required:
        yield "required"
    elif default:
        yield f"default {default}"
    if setting.flag.env and setting.names:
        yield f"env {setting.flag.env}"
    if setting.flag.also:
        yield "also " + ", ".join(f"--{name}" for name in setting.flag.also)


def _meaning(setting: Setting) -> str:
    return setting.flag.help + (f" No effect: {setting.flag.moot}." if setting.flag.moot else "")


def reference(program: Program) -> str:
    """The same as a chapter of Markdown."""
    paths = ", ".join(f"`{link.path}`" for link in program.links)
    parts = [f"## slurmery {program.name}", f"{program.summary}. Upstream images know it as {paths}."]
    labels = {setting.field: setting.label for setting in table(program.settings)}
    for link in program.links:
        if link.defaults:
            changed = ", ".join(f"`{labels[field]}` {text}" for field, text in link.defaults.items())
            parts.append(f"Started as `{link.path}`, its defaults are {changed}.")
    for group, settings in grouped(program).items():
        rows = "\n".join(_row(setting) for setting in settings)
        head = "| setting | default | environment | meaning |\n|---|---|---|---|"
        parts.append(f"### {group}\n\n{head}\n{rows}")
    return "\n\n".join(parts)


def _row(setting: Setting) -> str:
    names = " ".join(f"`--{name}`" for name in setting.names)
    default = setting.default_text and f"`{setting.default_text}`"
    cells = (
        f"`{setting.label}`" if setting.flag.word else names,
        "required" if setting.required else default,
        setting.flag.env and f"`{setting.flag.env}`",
        _meaning(setting),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
