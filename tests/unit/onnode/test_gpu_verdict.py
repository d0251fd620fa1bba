import contextlib
import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.onnode.gpu import __main__ as program
from slurmery.onnode.gpu.kernellog import xids
from slurmery.onnode.gpu.reading import Device, Link, Machine, Trial, Xid
from slurmery.onnode.gpu.thresholds import ThresholdError, Thresholds, parse
from slurmery.onnode.gpu.verdict import Finding, judge

SOUND = Device(
    index=0,
    name="NVIDIA H200",
    uuid="GPU-1",
    bus="00000000:9b:00.0",
    ecc_enabled=True,
    ecc_volatile=0,
    ecc_aggregate=0,
    remapped_uncorrectable=0,
    remap_pending=False,
    remap_failed=False,
    memory_total=100,
    memory_used=1,
    temperature=39,
    slowdown_temperature=89,
    power_milliwatts=125_000,
    power_limit_milliwatts=700_000,
    pcie_width=16,
    pcie_max_width=16,
    links=(Link(0, active=True, errors=0), Link(1, active=True, errors=3)),
)
FINE = Trial(wrong=0, tera_operations=54.0, memory_gigabytes=4200.0, host_gigabytes=54.0)
NOW = 100_000.0
DEFAULTS = Thresholds()


def failed(device: Device = SOUND, limits: Thresholds = DEFAULTS, **machine: object) -> dict[str, Finding]:
    whole = Machine("580", (device,), **{"trials": {0: FINE}, **machine})  # type: ignore[arg-type]
    return {one.check: one for one in judge(whole, limits, NOW) if one.status == "failed"}


def test_a_sound_gpu_passes() -> None:
    assert not failed()


@pytest.mark.parametrize(
    ("check", "change", "limits"),
    [
        ("ecc", {"ecc_volatile": 1}, {}),
        ("ecc", {"ecc_aggregate": 5}, {"max_uncorrected_errors_ever": 4}),
        ("remapped_rows", {"remap_pending": True}, {}),
        ("remapped_rows", {"remap_failed": True}, {}),
        ("remapped_rows", {"remapped_uncorrectable": 9}, {"max_remapped_rows": 8}),
        ("temperature", {"temperature": 89}, {}),
        ("temperature", {"temperature": 70}, {"max_temperature": 70}),
        ("throttling", {"throttling": 0x8}, {}),
        ("throttling", {"throttling": 0x41}, {}),
        ("nvlink", {"links": (Link(0, active=True, errors=0), Link(1, active=False, errors=0))}, {}),
        ("nvlink", {"links": (Link(0, active=True, errors=1001),)}, {}),
        ("nvlink", {"links": ()}, {"min_active_links": 18}),
        ("pcie", {"pcie_width": 8}, {}),
        ("memory", {"memory_used": 11}, {"max_memory_used_percent": 10}),
        ("power", {"power_limit_milliwatts": 300_000}, {"min_power_limit_watts": 700}),
        ("lost", {"lost": "nvmlDeviceGetHandleByIndex_v2: GPU is lost"}, {}),
    ],
)
def test_each_fault_is_found_and_names_its_gpu(
    check: str, change: dict[str, object], limits: dict[str, object]
) -> None:
    found = failed(dataclasses.replace(SOUND, **change), Thresholds(**limits))  # type: ignore[arg-type]
    assert set(found) == {check}
    assert found[check].devices == (0,)
    assert found[check].message.startswith("GPU 0: ")


def test_a_gpu_alone_in_its_machine_needs_no_links() -> None:
    assert not failed(dataclasses.replace(SOUND, links=(Link(0, active=False, errors=0),)))


def test_a_missing_gpu_is_found_by_the_expected_number() -> None:
    assert failed(limits=Thresholds(expected_devices=8))["device_count"].message == "1 of 8 GPUs found"
    lost = dataclasses.replace(SOUND, lost="gone")
    assert "device_count" in failed(lost, Thresholds(expected_devices=1))


def test_idle_clocks_are_no_throttling() -> None:
    assert not failed(dataclasses.replace(SOUND, throttling=0x1))


def test_a_wrong_result_or_a_refused_computation_fails_the_gpu() -> None:
    assert (
        failed(trials={0: dataclasses.replace(FINE, wrong=2)})["compute"].message == "GPU 0: 2 wrong results"
    )
    assert "launch failed" in failed(trials={0: "cuLaunchKernel: launch failed"})["compute"].message


def test_a_slow_gpu_fails_where_a_speed_is_asked_for() -> None:
    limits = Thresholds(min_tera_operations=50, min_memory_gigabytes=5000, min_host_gigabytes=10)
    assert set(failed(limits=limits)) == {"memory_gigabytes"}


KMSG = "4,1234,{},-;NVRM: Xid (PCI:0000:9b:00): {}, pid=1234, name=python, GPU has fallen off the bus."


def test_xids_are_read_from_the_kernels_log() -> None:
    lines = ["6,1,5,-;usb 1-1: new device", KMSG.format(2_500_000, 79)]
    (found,) = xids(lines)
    assert (found.number, found.bus, found.seconds) == (79, "0000:9b:00", 2.5)
    assert "fallen off the bus" in found.words


def test_an_xid_of_the_hardware_fails_its_gpu_and_one_of_a_program_does_not() -> None:
    assert failed(xids=(Xid(79, "0000:9b:00", NOW - 5, "off the bus"),))["xid"].devices == (0,)
    assert not failed(xids=(Xid(31, "0000:9b:00", NOW - 5, "MMU fault"),))


def test_an_old_xid_is_forgiven_and_one_of_a_gpu_that_is_gone_is_not() -> None:
    assert not failed(xids=(Xid(79, "0000:9b:00", NOW - 90_000, "off the bus"),))
    gone = failed(xids=(Xid(79, "0000:4c:00", NOW, "off the bus"),))["xid"]
    assert gone.devices == ()


@given(st.text())
def test_no_text_is_a_crash_of_the_thresholds(text: str) -> None:
    with contextlib.suppress(ThresholdError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"max_temprature": 80}', "did you mean max_temperature"),
        ('{"max_temperature": "hot"}', "max_temperature: a number"),
        ('{"trial": 1}', "trial"),
        ('{"ignored_xids": [true]}', "ignored_xids: a list of numbers"),
        ('{"throttling": ["noise"]}', "no such reason noise"),
        ("[]", "object"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_threshold_names_its_field(text: str, words: str) -> None:
    with pytest.raises(ThresholdError, match=words):
        parse(text)


def test_without_a_gpu_nothing_is_checked_unless_some_are_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert program.main([]) == 0
    assert json.loads(capsys.readouterr().out)["message"].startswith("skipped: no GPU")
    assert program.main(["--expected", "8"]) == 1
    assert "0 of 8" in json.loads(capsys.readouterr().out)["message"]


def test_the_report_is_json_with_all_that_was_read() -> None:
    machine = Machine("580", (SOUND,), trials={0: FINE})
    told = json.loads(json.dumps(program.report(machine, judge(machine, Thresholds(), NOW))))
    assert told["status"] == "ok"
    assert told["devices"][0]["name"] == "NVIDIA H200"
    assert told["trials"]["0"]["wrong"] == 0
