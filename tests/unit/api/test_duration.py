"""Lengths of time as users write them."""

import pytest

from slurmery.api.duration import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("-1m", -60),
        ("2m3.5s", 123.5),
        ("20ms", 0.02),
        ("1d12h", 129_600),
        ("2w", 1_209_600),
    ],
)
def test_durations_are_those_of_go_and_of_prometheus(text: str, seconds: float) -> None:
    assert duration(text).total_seconds() == pytest.approx(seconds)
