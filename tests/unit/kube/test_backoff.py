"""Delays that grow."""

from slurmery.kube.backoff import Backoff


def test_delays_double_up_to_the_cap_and_start_over_after_a_reset() -> None:
    backoff = Backoff(1, 10)
    for ceiling in (1, 2, 4, 8, 10, 10):
        assert ceiling / 2 <= backoff.next() <= ceiling
    backoff.reset()
    assert backoff.next() <= 1


def test_two_replicas_do_not_wait_in_step() -> None:
    assert len({Backoff(1, 10).next() for _ in range(20)}) > 10
