"""Quantities are the numbers that Kubernetes takes them for."""

from decimal import Decimal

import pytest

from slurmery.api.quantity import quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (2, "2"),
        ("0", "0"),
        ("500m", "0.5"),
        ("1u", "0.000001"),
        ("7n", "0.000000007"),
        ("1.5k", "1500"),
        ("64Gi", "68719476736"),
        ("1Ki", "1024"),
        (".5Mi", "524288"),
        ("2E", "2000000000000000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("-1.5e-1", "-0.15"),
        ("+3", "3"),
    ],
)
def test_it_is_the_number(text: int | str, number: str) -> None:
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1gi", "1.2.3", "0x10", "five"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(text)
