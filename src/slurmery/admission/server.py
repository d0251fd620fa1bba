"""The HTTPS server that the API server asks.

Whatever comes in gets an answer in time: a body that is no AdmissionReview a 400 with a sentence, everything
else a verdict. Should a judgement fail or take too long, hooks that fail closed refuse with a sentence, and
the others let the object pass with a warning.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from aiohttp import web
from prometheus_client import Counter, Gauge, Histogram

from slurmery.admission import review
from slurmery.admission.hooks import Hook
from slurmery.admission.identity import Identity
from slurmery.admission.lookups import Answers, Want
from slurmery.admission.review import Request, ReviewError, Verdict
from slurmery.api.duration import duration
from slurmery.kube.health import Address
from slurmery.kube.logs import logger

log = logger("admission")

# The API server takes objects of up to 3 MiB, and an update comes with two of them.
MOST_BYTES: Final = 8 * 1024 * 1024
REVIEW_SECONDS: Final = 8.0
# Of the time that the API server gives us; the rest is for the way back.
SHARE: Final = 0.8
FINISH_SECONDS: Final = 3.0

REQUESTS: Final = Counter(
    "controller_runtime_webhook_requests_total", "Reviews by path and HTTP status.", ("webhook", "code")
)
SECONDS: Final = Histogram("controller_runtime_webhook_latency_seconds", "Seconds per review.", ("webhook",))
IN_FLIGHT: Final = Gauge(
    "controller_runtime_webhook_requests_in_flight", "Reviews being judged.", ("webhook",)
)

# Lookups.answer, or what stands for it.
LookUp = Callable[[Iterable[Want]], Awaitable[Answers]]


def application(hooks: Iterable[Hook], look_up: LookUp) -> web.Application:
    """The hooks, each under its path."""
    app = web.Application(client_max_size=MOST_BYTES)
    app.add_routes([web.post(hook.path, _answering(hook, look_up)) for hook in hooks])
    return app


@asynccontextmanager
async def serve(address: Address, identity: Identity, app: web.Application) -> AsyncIterator[int]:
    """Serve over TLS; yields the port, which matters if the address left it open."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=FINISH_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host, address.port, ssl_context=identity.context)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _answering(hook: Hook, look_up: LookUp) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(http: web.Request) -> web.Response:
        begin = time.perf_counter()
        with IN_FLIGHT.labels(hook.path).track_inprogress():
            response = await _answer(http, hook, look_up)
        SECONDS.labels(hook.path).observe(time.perf_counter() - begin)
        REQUESTS.labels(hook.path, str(response.status)).inc()
        return response

    return answer


async def _answer(http: web.Request, hook: Hook, look_up: LookUp) -> web.Response:
    seconds = _limit(http.query.get("timeout", ""))
    try:
        async with asyncio.timeout(seconds):
            asked = review.decode(await http.read())
    except ReviewError as error:
        return web.Response(status=HTTPStatus.BAD_REQUEST, text=f"{error}\n")
    except TimeoutError:
        return web.Response(status=HTTPStatus.REQUEST_TIMEOUT, text=f"no body within {seconds:g} s\n")
    except web.HTTPRequestEntityTooLarge as error:
        return web.Response(status=error.status, text=f"{error.text}\n")
    verdict = await _judge(asked.request, hook, look_up, seconds)
    log.debug(
        "Reviewed",
        hook=hook.name,
        operation=asked.request.operation,
        object=f"{asked.request.namespace}/{asked.request.name}",
        allowed=verdict.allowed,
        message=verdict.message,
    )
    return web.Response(body=review.encode(asked, verdict), content_type="application/json")


async def _judge(request: Request, hook: Hook, look_up: LookUp, seconds: float) -> Verdict:
    try:
        async with asyncio.timeout(seconds):
            answers = await look_up(hook.wants(request))
        return hook.judge(request, answers)
    except TimeoutError:
        return hook.unjudged(f"no answer within {seconds:g} s")
    except Exception:
        log.exception("Review failed", hook=hook.name, name=request.name, namespace=request.namespace)
        return hook.unjudged("an internal error, see the log of the webhook")


def _limit(asked: str) -> float:
    """Seconds for a review; the API server says how long it waits, as `?timeout=10s`."""
    given = duration(asked).total_seconds() * SHARE
    return min(given, REVIEW_SECONDS) if given > 0 else REVIEW_SECONDS
