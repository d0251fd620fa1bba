"""How many workers may be away at once."""

import pytest

from slurmery.workers.rollout import limit


@pytest.mark.parametrize(
    ("given", "total", "allowed"),
    [
        ("40%", 10, 4),
        (3, 10, 3),
        ("20%", 2, 1),
        ("5%", 10019, 501),
        (0, 10, 1),
        ("many", 10, 1),
        ("20%", 0, 1),
    ],
)
def test_a_number_or_a_percentage_and_never_none(given: int | str, total: int, allowed: int) -> None:
    assert limit(given, total) == allowed
