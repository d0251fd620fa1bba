"""What a running process is busy with, for whoever asks: stacks now, or a profile of the next seconds.

The paths are those of Go's pprof, which people and their scripts know; the answers are Python's own.

    /debug/pprof/goroutine          the stack of every task and thread, as text
    /debug/pprof/profile?seconds=5  the work of the event loop meanwhile, in the form of `python -m pstats`
    /debug/pprof/profile?debug=1    the same as text, the dearest first
"""

import asyncio
import cProfile
import io
import marshal
import pstats
import sys
import threading
import traceback
from typing import Final

from aiohttp import web

from slurmery.kube.health import Handler

_LONGEST_SECONDS: Final = 300.0
_SHOWN: Final = 60


def routes() -> dict[str, Handler]:
    """What to serve."""
    return {"/debug/pprof/goroutine": _stacks, "/debug/pprof/profile": _profile}


async def _stacks(_: web.Request) -> web.Response:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    out = io.StringIO()
    for task in asyncio.all_tasks():
        task.print_stack(file=out)
    for number, frame in sys._current_frames().items():  # noqa: SLF001 (documented for this)
        out.write(f"Stack for thread {names.get(number, number)}\n{''.join(traceback.format_stack(frame))}")
    return web.Response(text=out.getvalue())


async def _profile(request: web.Request) -> web.Response:
    try:
        seconds = min(float(request.query.get("seconds", "30")), _LONGEST_SECONDS)
    except ValueError:
        return web.Response(status=400, text="seconds must be a number")
    profile = cProfile.Profile()
    try:
        profile.enable()
    except ValueError:
        return web.Response(status=409, text="another profile is being taken")
    try:
        await asyncio.sleep(seconds)
    finally:
        profile.disable()
    if request.query.get("debug"):
        out = io.StringIO()
        pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(_SHOWN)
        return web.Response(text=out.getvalue())
    profile.create_stats()
    return web.Response(body=marshal.dumps(profile.stats))
