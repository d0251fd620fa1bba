import ssl

import aiohttp

from slurmery.cli.selfsigned import server_tls
from slurmery.kube.health import Address, metrics_routes, serve


async def test_a_server_speaks_tls_with_it() -> None:
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    async with (
        serve(
            Address("127.0.0.1", 0), metrics_routes(), tls=server_tls("a-pod.of-a.long" + "-name" * 20)
        ) as port,
        aiohttp.ClientSession() as session,
        session.get(f"https://127.0.0.1:{port}/metrics", ssl=trusting) as answer,
    ):
        assert answer.status == 200
