"""Whole programs: one leads, the next takes over, and what was begun is finished."""

import asyncio

from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import LEASES

from .program import Start, until
from .work import ask_for_a_token, conditions, issued, slow_secrets

STOP_SECONDS = 5.0
# Far less than the fifteen seconds for which a lease is good that nobody gave back.
TAKEOVER_SECONDS = 8.0
LEASES_BY_NAME = {
    "slurmery operator": "slurm-operator",
    "slurm_operator": "e21479ae.nebius.ai",
    "soperatorchecks": "a22156dp.nebius.ai",
    "sconfigcontroller": "vqeyz6ae.nebius.ai",
}


async def holder(client: Client, namespace: str, lease: str) -> str:
    found = await client.get(LEASES, Key(namespace, lease))
    name: str = found["spec"]["holderIdentity"]
    return name


async def test_one_leads_and_the_other_takes_over_at_once(
    client: Client, namespace: str, start: Start
) -> None:
    first = await start("slurmery operator")
    await until(first.leads)
    second = await start("slurmery operator")
    assert not await second.leads()
    assert [await each.get(f"http://{each.probes}/healthz") for each in (first, second)] == [(200, "ok")] * 2
    former = await holder(client, namespace, "slurm-operator")

    status, seconds = await first.stop()
    assert (status, seconds < STOP_SECONDS) == (0, True)
    await until(second.leads, TAKEOVER_SECONDS)
    assert await holder(client, namespace, "slurm-operator") not in {"", former}

    await ask_for_a_token(client, namespace)
    await until(lambda: issued(client, namespace))


async def test_what_was_begun_is_finished_before_the_lease_is_given_back(
    client: Client, namespace: str, start: Start
) -> None:
    operator = await start("slurmery operator")
    await until(operator.leads)
    async with slow_secrets(client, namespace) as asked:
        await ask_for_a_token(client, namespace)
        async with asyncio.timeout(30):
            await asked.wait()
        assert not await issued(client, namespace)
        status, seconds = await operator.stop()

    assert (status, seconds < STOP_SECONDS) == (0, True)
    assert await issued(client, namespace)
    assert (await conditions(client, namespace))["Ready"] == "True"
    assert await holder(client, namespace, "slurm-operator") == ""


async def test_the_lease_is_where_the_operator_is_at_home(
    client: Client, namespace: str, start: Start
) -> None:
    operator = await start("slurm_operator", "--leader-elect-namespace=", OPERATOR_NAMESPACE=namespace)
    await until(operator.leads)
    assert await holder(client, namespace, "e21479ae.nebius.ai")


async def test_leases_have_their_upstream_names_and_are_given_back(
    client: Client, namespace: str, start: Start
) -> None:
    programs = await asyncio.gather(*(start(name) for name in LEASES_BY_NAME))
    for program in programs:
        await until(program.leads)
    assert all([await holder(client, namespace, lease) for lease in LEASES_BY_NAME.values()])
    ends = await asyncio.gather(*(program.stop() for program in programs))
    assert [(status, seconds < STOP_SECONDS) for status, seconds in ends] == [(0, True)] * len(programs)
    assert not any([await holder(client, namespace, lease) for lease in LEASES_BY_NAME.values()])
