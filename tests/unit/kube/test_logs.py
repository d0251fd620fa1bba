import io
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from slurmery.kube import logs
from slurmery.kube.logs import Format, Times
from slurmery.kube.meta import Key

# Loggers are made at module level, before anything is configured.
log = logs.logger("nodeset")


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    before = logging.root.handlers[:], logging.root.level
    ours = structlog.get_config()
    yield io.StringIO()
    logging.root.handlers[:], logging.root.level = before
    structlog.configure(**ours)


def test_a_json_line_has_level_time_message_and_key_values(out: io.StringIO) -> None:
    logs.configure(Format.JSON, "info", out)
    with structlog.contextvars.bound_contextvars(controller="nodeset", key="slurm/gpu"):
        log.info("Pod created", pod=Key("slurm", "gpu-0"), path=Path("/a"), count=3)
    line = json.loads(out.getvalue())
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "info",
        "msg": "Pod created",
        "source": "nodeset",
        "controller": "nodeset",
        "key": "slurm/gpu",
        "pod": ["slurm", "gpu-0"],
        "path": "/a",
        "count": 3,
    }


def test_lines_below_the_level_are_not_written(out: io.StringIO) -> None:
    logs.configure(Format.JSON, "warn", out)
    log.info("no")
    logging.getLogger("aiohttp").info("no")
    log.warning("yes")
    assert [json.loads(line)["msg"] for line in out.getvalue().splitlines()] == ["yes"]


def test_an_exception_comes_with_its_traceback_on_one_line(out: io.StringIO) -> None:
    logs.configure(Format.JSON, "info", out)
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("Reconcile failed")
    (line,) = out.getvalue().splitlines()
    assert "ValueError: bad" in json.loads(line)["exception"]


def test_what_libraries_say_comes_out_in_the_same_form(out: io.StringIO) -> None:
    logs.configure(Format.JSON, "info", out)
    logging.getLogger("aiohttp.server").error("Error handling %s", "request")
    line = json.loads(out.getvalue())
    assert (line["level"], line["source"], line["msg"]) == (
        "error",
        "aiohttp.server",
        "Error handling request",
    )


def test_debug_is_ours_alone(out: io.StringIO) -> None:
    logs.configure(Format.JSON, "debug", out)
    logging.getLogger("asyncio").debug("Using selector")
    log.debug("mine")
    assert [json.loads(line)["msg"] for line in out.getvalue().splitlines()] == ["mine"]


def test_plain_lines_are_for_people(out: io.StringIO) -> None:
    logs.configure(Format.PLAIN, "info", out)
    log.info("Pod created", pod="slurm/gpu-0")
    logging.getLogger("aiohttp").warning("odd")
    first, second = out.getvalue().splitlines()
    assert "[info" in first
    assert "Pod created" in first
    assert "pod=slurm/gpu-0" in first
    assert "odd" in second
    assert "\x1b" not in first


@pytest.mark.parametrize(("times", "second"), [(Times.EPOCH, 1), (Times.MILLIS, 1e3), (Times.NANO, 1e9)])
def test_times_can_be_numbers(out: io.StringIO, times: Times, second: float) -> None:
    logs.configure(Format.JSON, "info", out, times=times)
    log.info("Pod created")
    logging.getLogger("library").warning("said")
    stamps = [json.loads(line)["ts"] for line in out.getvalue().splitlines()]
    assert stamps == pytest.approx([time.time() * second] * 2, abs=60 * second)


def test_numbers_are_shown_to_people_too(out: io.StringIO) -> None:
    logs.configure(Format.PLAIN, "info", out, times=Times.EPOCH)
    log.info("Pod created")
    assert out.getvalue().split(".")[0].isdecimal()
