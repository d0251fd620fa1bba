from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.health.active.schedule import ScheduleError, schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "due"),
    [
        ("0 */6 * * *", "2026-11-15T13:45:00", "2026-11-15T18:00:00"),
        ("0 0 1 1 *", "2026-11-15T13:45:00", "2027-01-01T00:00:00"),
        ("*/15 9-17 * * mon-fri", "2026-11-13T17:45:00", "2026-11-16T09:00:00"),
        ("30 4 1,15 * 5", "2026-11-15T05:00:00", "2026-11-20T04:30:00"),
        ("0 0 29 2 *", "2026-11-15T00:00:00", "2028-02-29T00:00:00"),
        ("5/20 * * * *", "2026-11-15T13:25:30", "2026-11-15T13:45:00"),
        ("0 0 * * 7", "2026-11-14T00:00:00", "2026-11-15T00:00:00"),
        ("@daily", "2026-11-15T00:00:00", "2026-11-16T00:00:00"),
    ],
)
def test_it_reads_what_cron_reads(text: str, after: str, due: str) -> None:
    assert schedule(text).after(at(after)) == at(due)


def test_a_day_that_never_comes_is_never_due() -> None:
    assert schedule("0 0 31 2 *").after(at("2026-11-15T00:00:00")) is None


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "* 5-3 * * *", "*/0 * * * *", "a * * * *", "@x"]
)
def test_what_is_no_schedule_is_told(text: str) -> None:
    with pytest.raises(ScheduleError):
        schedule(text)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2050, 1, 1)), st.integers(0, 59), st.integers(0, 23))  # noqa: DTZ001
def test_the_next_time_is_later_fits_and_none_is_skipped(moment: datetime, minute: int, hour: int) -> None:
    found = schedule(f"{minute} {hour} * * *").after(moment)
    assert found is not None
    assert (found.minute, found.hour) == (minute, hour)
    assert 0 < (found - moment).total_seconds() <= 86400
