"""A measured figure next to its limit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """What came out, and what may come out: at most `limit`, or at least that if it is a floor."""

    what: str
    value: float
    limit: float
    unit: str
    floor: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value >= self.limit if self.floor else self.value <= self.limit
