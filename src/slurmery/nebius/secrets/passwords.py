"""Passwords of the database: 16 characters, 4 of them digits and 2 symbols, none twice."""

import string
from typing import Final

SYMBOLS: Final = "@$^&*()_+-={}|[]<>/"
ENTROPY_BYTES: Final = 64


def password(entropy: bytes) -> str:
    """The password that random bytes stand for."""
    left = int.from_bytes(entropy)

    def taken(alphabet: str, count: int) -> list[str]:
        nonlocal left
        pool, found = list(alphabet), []
        for _ in range(count):
            left, place = divmod(left, len(pool))
            found.append(pool.pop(place))
        return found

    chosen = [*taken(string.ascii_letters, 10), *taken(string.digits, 4), *taken(SYMBOLS, 2)]
    return "".join(taken("".join(chosen), len(chosen)))
