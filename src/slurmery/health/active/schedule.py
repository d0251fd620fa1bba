"""When a check is due: the five fields of cron, as CronJobs read them, in UTC.

ScheduleError   a text that is no schedule
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
# A leap day that is a given weekday comes within 40 years, or never.
_HORIZON: Final = timedelta(days=366 * 41)


class ScheduleError(ValueError):
    """The text is no schedule."""


@dataclass(frozen=True)
class Schedule:
    """Numbers that each field allows. If both kinds of days are narrowed, either will do."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment; None if there is none."""
        found = (moment + timedelta(minutes=1)).replace(second=0, microsecond=0)
        end = moment + _HORIZON
        while found < end:
            if found.month not in self.months or not self._day(found):
                found = (found + timedelta(days=1)).replace(hour=0, minute=0)
            elif found.hour not in self.hours:
                found = (found + timedelta(hours=1)).replace(minute=0)
            elif found.minute not in self.minutes:
                found += timedelta(minutes=1)
            else:
                return found
        return None

    def _day(self, moment: datetime) -> bool:
        day, weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday


def schedule(text: str) -> Schedule:
    """Read a schedule. Raises ScheduleError."""
    fields = _MACROS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise ScheduleError(f"a schedule has five fields: {text!r}")
    minutes, hours, days, months, weekdays = fields
    return Schedule(
        _field(minutes, 0, 59),
        _field(hours, 0, 23),
        _field(days, 1, 31),
        _field(months, 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
        frozenset(day % 7 for day in _field(weekdays, 0, 7, {name: day for day, name in enumerate(_DAYS)})),
        either_day=days[0] not in "*?" and weekdays[0] not in "*?",
    )


def _field(text: str, first: int, last: int, names: Mapping[str, int] | None = None) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        begin, dash, end = span.partition("-")
        if begin in ("*", "?"):
            low, high = first, last
        else:
            low = _number(begin, names or {})
            high = _number(end, names or {}) if dash else last if step else low
        stride = _number(step, {}) if step else 1
        if not (first <= low <= high <= last) or stride < 1:
            raise ScheduleError(f"{part!r} is not within {first}-{last}")
        found.update(range(low, high + 1, stride))
    return frozenset(found)


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not text.isascii() or not text.isdigit():
        raise ScheduleError(f"{text!r} is no number")
    return int(text)
