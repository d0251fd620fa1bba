"""Certificates come, go and are replaced, and no request is refused for it."""

import asyncio
import base64
import dataclasses
import datetime
import json
import socket
import ssl
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trustme

from slurmery.admission import authority, identity, service
from slurmery.admission.authority import Lives
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.health import Address
from slurmery.kube.meta import Key
from slurmery.kube.resources import SECRETS, VALIDATING_WEBHOOKS
from tests.controlplane.admission.conftest import until
from tests.controlplane.admission.world import HOST, Manifest, World

SECOND = datetime.timedelta(seconds=1)


def handshake(port: int, bundle: str) -> bytes:
    """The certificate that the server shows to somebody who trusts a bundle."""
    context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    with (
        socket.create_connection((HOST, port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as secured,
    ):
        shown = secured.getpeercert(binary_form=True)
    assert shown
    return shown


async def test_two_replicas_that_start_at_once_agree_on_one_authority(world: World) -> None:
    await world.configure(9443)
    async with AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(world.serving()) for _ in range(3)]

        async def settled() -> bool:
            return await world.trusts() and all(replica.identity.known for replica in replicas)

        await until(settled)
        secret = await world.client.get(SECRETS, world.authority)
        bundle = secret["data"]["ca.crt"]
        assert await world.trusted() == {bundle}
        shown = {await asyncio.to_thread(handshake, replica.port, bundle) for replica in replicas}
        assert len(shown) == len(replicas), "each has a certificate of its own"
        assert len(authority.unpack({k: base64.b64decode(v) for k, v in secret["data"].items()})) == 1


async def test_nothing_is_refused_while_leaves_and_authorities_are_replaced(world: World) -> None:
    lives = Lives(authority=9 * SECOND, leaf=3 * SECOND, settle=2 * SECOND)
    bundles: list[str] = []
    shown: set[bytes] = set()
    async with world.serving(lives) as one, world.serving(lives) as two:
        await world.configure(one.port)
        await until(world.asks)
        while len(bundles) < 5:
            assert await world.asks()
            (bundle,) = await world.trusted()
            for replica in (one, two):
                shown.add(await asyncio.to_thread(handshake, replica.port, bundle))
            if bundle not in bundles:
                bundles.append(bundle)

    # Old and new are trusted together before the new one signs, and until the old one has expired.
    counts = [base64.b64decode(bundle).count(b"BEGIN") for bundle in bundles]
    assert counts == [1, 2, 1, 2, 1]
    assert len(shown) > 6


async def test_a_restarted_webhook_keeps_the_authority(world: World) -> None:
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.asks)
        before = await world.trusted()
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.asks)
        assert await world.trusted() == before


async def test_a_configuration_that_loses_its_trust_gets_it_back(world: World) -> None:
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.trusts)
        await world.client.delete(VALIDATING_WEBHOOKS, Key("", world.namespace))
        await world.configure(running.port)
        await until(world.asks)


async def test_a_lost_or_spoilt_secret_is_made_anew(world: World) -> None:
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.trusts)
        for spoil in ("delete", "empty"):
            before = await world.trusted()
            if spoil == "delete":
                await world.client.delete(SECRETS, world.authority)
            else:
                await world.client.patch(SECRETS, world.authority, {"data": {"ca.key": None}})

            async def renewed(before: set[str] = before) -> bool:
                return not before & await world.trusted() and await world.asks()

            await until(renewed)


async def test_configurations_of_others_are_let_alone(world: World) -> None:
    name = f"foreign-{world.namespace}"
    foreign: Manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name, "labels": {"slurmery/authority": "other.secret"}},
        "webhooks": [
            {
                "name": "a.example.com",
                "clientConfig": {"url": "https://127.0.0.1:1/x"},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Ignore",
            }
        ],
    }
    await world.client.create(VALIDATING_WEBHOOKS, foreign)
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.trusts)
        live = await world.client.get(VALIDATING_WEBHOOKS, Key("", name))
    assert "caBundle" not in live["webhooks"][0]["clientConfig"]
    await world.client.delete(VALIDATING_WEBHOOKS, Key("", name))


async def test_once_all_is_in_order_nothing_is_written(world: World) -> None:
    async with world.serving() as running:
        await world.configure(running.port)
        await until(world.asks)
    seen = len(world.plane.audit_log.read_text().splitlines())
    async with world.serving() as running:
        await until(lambda: _known(running))
        (bundle,) = await world.trusted()
        before = await asyncio.to_thread(handshake, running.port, bundle)
        await world.kubectl("annotate", "secret", "-n", *world.authority, "looked=at")
        await asyncio.sleep(0.5)
        assert await asyncio.to_thread(handshake, running.port, bundle) == before
    fresh = [json.loads(line) for line in world.plane.audit_log.read_text().splitlines()[seen:]]
    ours = {event["verb"] for event in fresh if event.get("userAgent", "").startswith("slurmery/")}
    assert ours <= {"get", "list", "watch"}


async def test_a_webhook_that_may_not_touch_configurations_serves_all_the_same(world: World) -> None:
    name, namespace = "restricted", world.namespace
    verbs = "--verb=get,list,watch,create,patch"
    await world.kubectl("create", "role", "keeper", "-n", namespace, verbs, "--resource=secrets")
    await world.kubectl("create", "rolebinding", "keeper", "-n", namespace, "--role=keeper", f"--user={name}")
    kubeconfig = world.plane.user(name, name)
    async with (
        Client(config.load(kubeconfig)) as client,
        dataclasses.replace(world, client=client).serving() as running,
    ):
        await world.configure(running.port)
        await until(lambda: _known(running))
        bundle = (await world.client.get(SECRETS, world.authority))["data"]["ca.crt"]
        assert await asyncio.to_thread(handshake, running.port, bundle)
        assert await world.trusted() == {""}, "that is somebody else's to do"


async def _known(running: service.Running) -> bool:
    return running.unready() is None


async def test_certificates_in_a_folder_are_read_again_when_they_change(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "LOOK_SECONDS", 0.05)
    ca = trustme.CA()
    async with service.running(world.client, Address(HOST, 0), tmp_path) as running:
        assert running.unready()
        _mount(tmp_path, ca)
        await until(lambda: _known(running))
        bundle = base64.b64encode(ca.cert_pem.bytes()).decode()
        await world.configure(running.port)
        await _inject(world, bundle)
        await until(world.asks)
        before = await asyncio.to_thread(handshake, running.port, bundle)

        _mount(tmp_path, ca)

        async def replaced() -> bool:
            return before != await asyncio.to_thread(handshake, running.port, bundle)

        await until(replaced)
        assert await world.asks()


def _mount(folder: Path, ca: trustme.CA) -> None:
    """Write a pair as the kubelet does: a new folder, and a link to it that is swapped."""
    leaf = ca.issue_cert(HOST)
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    (fresh / "tls.crt").write_bytes(leaf.cert_chain_pems[0].bytes())
    (fresh / "tls.key").write_bytes(leaf.private_key_pem.bytes())
    link = folder / "..data_tmp"
    link.symlink_to(fresh.name)
    link.replace(folder / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


async def _inject(world: World, bundle: str) -> None:
    """What cert-manager's injector does."""
    live = await world.client.get(VALIDATING_WEBHOOKS, Key("", world.namespace))
    for webhook in live["webhooks"]:
        webhook["clientConfig"]["caBundle"] = bundle
    await world.client.replace(VALIDATING_WEBHOOKS, live)
