"""Who may read metrics, decided by a real API server."""

from http import HTTPStatus

from slurmery.kube.authorize import Authorizer
from slurmery.kube.client import Client

from .accounts import metrics_reader, token
from .conftest import until


async def test_only_who_is_known_and_allowed_may_read(client: Client, namespace: str) -> None:
    stranger = await token(client, namespace, "stranger")
    async with metrics_reader(client, namespace) as reader:

        async def allowed() -> bool:
            return await Authorizer(client).verdict(f"Bearer {reader}", "/metrics") == HTTPStatus.OK

        await until(allowed)  # the API server learns of new roles by a watch of its own
        authorizer = Authorizer(client)
        assert await authorizer.verdict(f"Bearer {reader}", "/secret") == HTTPStatus.FORBIDDEN
        assert await authorizer.verdict(f"Bearer {stranger}", "/metrics") == HTTPStatus.FORBIDDEN
        assert await authorizer.verdict("Bearer nonsense", "/metrics") == HTTPStatus.UNAUTHORIZED
        for header in ("", "Bearer", "Bearer ", "Basic YTpi"):
            assert await authorizer.verdict(header, "/metrics") == HTTPStatus.UNAUTHORIZED
