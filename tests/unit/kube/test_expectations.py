import pytest

from slurmery.kube.expectations import Expectations


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def expectations(clock: Clock) -> Expectations[str]:
    return Expectations(patience=300, clock=clock)


def test_an_owner_that_did_nothing_is_settled(expectations: Expectations[str]) -> None:
    expectations.expect("gpu", [])
    assert expectations.settled("gpu")


def test_an_owner_is_settled_when_every_pod_was_seen(expectations: Expectations[str]) -> None:
    pods = [f"gpu-{ordinal}" for ordinal in range(1000)]
    expectations.expect("gpu", pods)
    for pod in pods[:-1]:
        expectations.seen("gpu", pod)
        assert not expectations.settled("gpu")
    expectations.seen("gpu", pods[-1])
    assert expectations.settled("gpu")


def test_an_event_seen_twice_strikes_out_nothing_else(expectations: Expectations[str]) -> None:
    expectations.expect("gpu", ["gpu-0", "gpu-1"])
    expectations.seen("gpu", "gpu-0")
    expectations.seen("gpu", "gpu-0")
    expectations.seen("gpu", "somebody-elses")
    assert expectations.pending("gpu") == {"gpu-1"}


def test_owners_do_not_disturb_each_other(expectations: Expectations[str]) -> None:
    expectations.expect("gpu", ["a"])
    expectations.expect("cpu", ["a"])
    expectations.seen("cpu", "a")
    assert expectations.settled("cpu")
    assert not expectations.settled("gpu")


def test_a_pod_that_never_shows_up_blocks_only_for_a_while(
    expectations: Expectations[str], clock: Clock
) -> None:
    expectations.expect("gpu", ["lost"])
    clock.now = 200
    expectations.expect("gpu", ["later"])
    clock.now = 301
    assert expectations.pending("gpu") == {"later"}
    clock.now = 501
    assert expectations.settled("gpu")


def test_a_forgotten_owner_starts_afresh(expectations: Expectations[str]) -> None:
    expectations.expect("gpu", ["a"])
    expectations.forget("gpu")
    assert expectations.settled("gpu")
