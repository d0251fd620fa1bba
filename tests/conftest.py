"""Ground rules for every test process."""

import asyncio

import structlog
from hypothesis import HealthCheck, settings

# How long an example takes depends on the machine and says nothing about the code.
settings.register_profile("slurmery", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("slurmery")

# Before Python 3.14, asking for the current loop makes one as long as none was ever set. pytest-asyncio asks,
# nobody closes it, and the warning about that fails some later test. Said once, "none" stays none.
asyncio.set_event_loop(None)

# The default draws tracebacks with all local variables, at a third of a second each.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
