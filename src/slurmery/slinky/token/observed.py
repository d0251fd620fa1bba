"""What a decision about a Token looks at."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Observed:
    """The signing key and the token in the Secret, None where there is none. Neither is ever shown."""

    key: bytes | None = field(default=None, repr=False)
    current: str | None = field(default=None, repr=False)
