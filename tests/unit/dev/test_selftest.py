import jwt

from dev import selftest


def test_slurm_tokens_are_ordinary_jwts() -> None:
    key = bytes(range(32))
    token = selftest.sign(key, "slurm", now=1_000)

    claims = jwt.decode(token, key, algorithms=["HS256"], options={"verify_exp": False})
    assert claims == {"exp": 1_600, "iat": 1_000, "sun": "slurm"}
