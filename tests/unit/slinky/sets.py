"""RestApis, LoginSets, NodeSets and Tokens of the cluster in `clusters`, as tests need them."""

from typing import Any

from slurmery.api.slinky import LoginSet, NodeSet, RestApi, Token
from slurmery.slinky.loginset.observed import Observed as LoginWorld
from slurmery.slinky.nodeset.observed import Observed as NodeSetWorld
from slurmery.slinky.restapi.observed import Observed as RestApiWorld
from tests.unit.slinky.clusters import controller

REF = {"controllerRef": {"name": "slurm"}}
SSSD = {"sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"}}


def _metadata(name: str, given: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name, "namespace": "slurm", "uid": f"uid-{name}", **(given or {})}


def restapi(metadata: dict[str, Any] | None = None, **spec: Any) -> RestApi:
    base: dict[str, Any] = {**REF, "slurmrestd": {"image": "slurmrestd:26.05"}}
    return RestApi.model_validate({"metadata": _metadata("slurm", metadata), "spec": {**base, **spec}})


def loginset(metadata: dict[str, Any] | None = None, **spec: Any) -> LoginSet:
    base: dict[str, Any] = {**REF, **SSSD, "login": {"image": "login:26.05"}}
    return LoginSet.model_validate({"metadata": _metadata("login", metadata), "spec": {**base, **spec}})


def nodeset(metadata: dict[str, Any] | None = None, **spec: Any) -> NodeSet:
    base: dict[str, Any] = {**REF, "slurmd": {"image": "slurmd:26.05"}}
    return NodeSet.model_validate({"metadata": _metadata("gpu", metadata), "spec": {**base, **spec}})


def token(metadata: dict[str, Any] | None = None, **spec: Any) -> Token:
    base: dict[str, Any] = {"jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}, "username": "alice"}
    return Token.model_validate({"metadata": _metadata("mine", metadata), "spec": {**base, **spec}})


def restapi_world(**observed: Any) -> RestApiWorld:
    return RestApiWorld(
        **{"controller": controller(), "slurm_conf_hash": "c1", "slurm_key_hash": "k1", **observed}
    )


def login_world(**observed: Any) -> LoginWorld:
    base = {"slurm_key_hash": "k1", "sssd_conf_hash": "s1", "host_keys_hash": "h1"}
    return LoginWorld(**{"controller": controller(), **base, **observed})


def nodeset_world(**observed: Any) -> NodeSetWorld:
    return NodeSetWorld(
        **{"controller": controller(), "slurm_key_hash": "k1", "sssd_conf_hash": "s1", **observed}
    )
