import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt as pyjwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.slinky import Token
from slurmery.doors.plan import Plan
from slurmery.kube.desired import Policy
from slurmery.slinky.token import jwt
from slurmery.slinky.token.decide import decide, issued_at
from slurmery.slinky.token.observed import Observed
from tests.unit.slinky import golden
from tests.unit.slinky.sets import token

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)
KEY = b"k" * 32
JTI = "00000000-0000-0000-0000-000000000001"


def at(now: datetime, current: str | None = None, key: bytes | None = KEY, **spec: Any) -> Plan:
    return decide(token(**spec), Observed(key=key, current=current), now=now, jti=JTI)


def written(plan: Plan) -> str:
    (text,) = plan.desired[0].manifest["data"].values()
    return base64.b64decode(text).decode()


def reasons(plan: Plan) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in plan.conditions}


def test_the_secret_is_the_reviewed_one() -> None:
    plan = at(NOW, metadata={"labels": {"team": "hpc"}, "annotations": {"owner": "ops"}})
    golden.check("token-minimal", [plan.desired[0].manifest])


def test_any_library_verifies_the_token() -> None:
    made = written(at(NOW, lifetime="1h", username="bob"))
    claims = pyjwt.decode(made, KEY, algorithms=["HS256"], options={"verify_exp": False, "verify_nbf": False})
    moment = int(NOW.timestamp())
    assert claims == {
        "jti": JTI,
        "iss": "slurm-operator",
        "iat": moment,
        "nbf": moment,
        "exp": moment + 3600,
        "sun": "bob",
    }


@pytest.mark.parametrize(
    ("age", "renewed", "again"),
    [(0, False, 720), (300, False, 420), (719, False, 1), (720, True, 720), (5000, True, 720)],
)
def test_a_token_is_renewed_after_four_fifths_of_its_life(age: int, renewed: bool, again: float) -> None:
    first = written(at(NOW))
    plan = at(NOW + timedelta(seconds=age), current=first)
    assert (written(plan) != first) is renewed
    assert plan.requeue == pytest.approx(again)


@pytest.mark.parametrize(
    ("current", "spec"),
    [
        (written(at(NOW, key=b"old key")), {}),
        (written(at(NOW)), {"username": "bob"}),
        (written(at(NOW)), {"lifetime": "1h"}),
        (written(at(NOW + timedelta(hours=1))), {}),
        ("rubbish", {}),
        ("a.b.c", {}),
    ],
    ids=["another key", "another user", "another lifetime", "from the future", "no token", "no JSON"],
)
def test_a_token_that_does_not_fit_any_more_is_replaced_at_once(current: str, spec: dict[str, Any]) -> None:
    plan = at(NOW, current=current, **spec)
    claims = jwt.verified(KEY, written(plan))
    assert claims
    assert claims.user == spec.get("username", "alice")
    assert claims.issued == NOW.timestamp()
    assert reasons(plan)["Ready"] == ("True", "Issued")


def test_a_token_that_is_not_refreshed_is_written_once() -> None:
    plan = at(NOW, refresh=False)
    assert plan.desired[0].policy is Policy.CREATE_ONCE
    assert plan.desired[0].manifest["immutable"] is True
    later = at(NOW + timedelta(minutes=5), current=written(plan), refresh=False)
    assert written(later) == written(plan)
    assert later.requeue == pytest.approx(600)


@pytest.mark.parametrize(
    ("later", "key", "reason"), [(900, KEY, "TokenExpired"), (0, b"another", "KeyChanged")]
)
def test_one_that_is_not_refreshed_says_when_it_works_no_more(later: int, key: bytes, reason: str) -> None:
    once = written(at(NOW, refresh=False))
    plan = at(NOW + timedelta(seconds=later), current=once, key=key, refresh=False)
    assert written(plan) == once
    assert reasons(plan)["Ready"] == ("False", reason)


@pytest.mark.parametrize(
    ("key", "spec", "reason"),
    [
        (None, {}, "SecretNotFound"),
        (b"", {}, "KeyEmpty"),
        (KEY, {"lifetime": "0"}, "InvalidSpec"),
        (KEY, {"lifetime": "-5m"}, "InvalidSpec"),
    ],
)
def test_without_a_key_or_a_life_there_is_no_token(
    key: bytes | None, spec: dict[str, Any], reason: str
) -> None:
    plan = at(NOW, current="kept", key=key, **spec)
    assert (plan.desired, plan.prune) == ((), ())
    assert reasons(plan)["Ready"] == ("False", reason)


def test_a_life_is_at_most_what_slurm_can_hold() -> None:
    claims = jwt.verified(KEY, written(at(NOW, lifetime="1000000h")))
    assert claims
    assert claims.expires - claims.issued == 2147483646


@pytest.mark.parametrize(
    ("given_token", "name", "key"),
    [
        (token(), "mine-jwt-alice", "SLURM_JWT"),
        (token(username=""), "mine-jwt-nobody", "SLURM_JWT"),
        (token(secretRef={"name": "there", "key": "jwt"}), "there", "jwt"),
        (token(secretRef={"key": "jwt"}), "mine-jwt-alice", "jwt"),
    ],
)
def test_the_secret_is_named_by_the_spec_or_by_token_and_user(
    given_token: Token, name: str, key: str
) -> None:
    manifest = decide(given_token, Observed(key=KEY), now=NOW, jti=JTI).desired[0].manifest
    assert manifest["metadata"]["name"] == name
    assert list(manifest["data"]) == [key]


@given(st.text(min_size=1, max_size=20))
def test_whatever_the_user_is_called_the_secret_has_a_name(username: str) -> None:
    manifest = at(NOW, username=username).desired[0].manifest
    assert set(manifest["metadata"]["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert manifest["metadata"]["name"][-1].isalnum()
    claims = jwt.verified(KEY, written(at(NOW, username=username)))
    assert claims
    assert claims.user == username


def test_users_whose_names_look_alike_do_not_share_a_secret() -> None:
    names = {
        at(NOW, username=user).desired[0].manifest["metadata"]["name"]
        for user in ("a_b", "a.b", "A-b", "a-b")
    }
    assert len(names) == 4


def test_the_status_tells_when_the_token_was_issued() -> None:
    made = written(at(NOW))
    assert issued_at(Observed(key=KEY, current=made)) == NOW
    assert issued_at(Observed(key=b"x", current=made)) is None
    assert issued_at(Observed(key=KEY)) is None


def test_neither_key_nor_token_is_ever_shown() -> None:
    shown = repr(Observed(key=KEY, current="eyJhbGciOi"))
    assert "kkkk" not in shown
    assert "eyJ" not in shown


@given(st.binary(min_size=1), st.text())
def test_only_tokens_of_the_key_are_believed(key: bytes, text: str) -> None:
    assert jwt.verified(key, text) is None
    made = jwt.sign(key, jwt.Claims(text, 1, 2), "j")
    assert jwt.verified(key, made) == jwt.Claims(text, 1, 2)
    assert jwt.verified(key + b"x", made) is None


def test_a_well_signed_text_that_is_no_token_is_not_believed() -> None:
    contents: list[Any] = [[], {"sun": "a"}, {"sun": "a", "iat": "x", "exp": 1}, 5]
    for content in contents:
        part = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
        signed = f"e30.{part}"
        assert jwt.verified(KEY, f"{signed}.{jwt._signature(KEY, signed)}") is None
