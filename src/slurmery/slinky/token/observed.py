"""What a decision about a Token looks at."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Observed:
    """The signing key and the token in the Secret, None where there is none. Neither is ever shown.

    `heir_of` is the uid of the Secret's controller where that is not the Token but, as upstream's operator
    had it, the key's Secret, and the token in it is one for this user.
    """

    key: bytes | None = field(default=None, repr=False)
    current: str | None = field(default=None, repr=False)
    heir_of: str = ""
