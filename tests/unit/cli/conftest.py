"""Loopback addresses that no other process uses, and programs that run on them."""

import random
import socket
from collections.abc import Iterator

import pytest

from dev.controlplane import GUARD_PORT


@pytest.fixture
def address() -> Iterator[str]:
    """An address of our own: every port on it is free."""
    while True:
        guard = socket.socket()
        chosen = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
        try:
            guard.bind((chosen, GUARD_PORT))
        except OSError:
            guard.close()
        else:
            break
    with guard:
        yield chosen
