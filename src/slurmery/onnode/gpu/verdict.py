"""Is a machine's GPU set healthy? A pure function of what was read and of the thresholds.

Every check answers for the whole machine: ok, failed with the GPUs it failed for, or skipped with a reason.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .reading import Device, Machine, Trial
from .thresholds import THROTTLING, Thresholds


@dataclass(frozen=True)
class Finding:
    """What one check found; `devices` are the indexes of the GPUs at fault."""

    check: str
    status: Literal["ok", "failed", "skipped"]
    message: str
    devices: tuple[int, ...] = ()


Fault = tuple[int, str]


def judge(machine: Machine, limits: Thresholds, now: float) -> tuple[Finding, ...]:
    """All checks; `now` is in seconds after boot."""
    return (
        _count(machine, limits),
        _finding("lost", ((one.index, one.lost) for one in machine.devices if one.lost)),
        *(_finding(name, _each(machine, limits, check)) for name, check in _OF_A_DEVICE.items()),
        _finding("xid", _xids(machine, limits, now)),
        *_trials(machine, limits),
    )


def _count(machine: Machine, limits: Thresholds) -> Finding:
    found = sum(not one.lost for one in machine.devices)
    if limits.expected_devices is None:
        return Finding("device_count", "skipped", f"{found} found; expected_devices is not given")
    words = f"{found} of {limits.expected_devices} GPUs found"
    return Finding("device_count", "ok" if found == limits.expected_devices else "failed", words)


def _finding(check: str, faults: Iterator[Fault]) -> Finding:
    found = list(faults)
    if not found:
        return Finding(check, "ok", "")
    words = "; ".join(f"GPU {index}: {words}" for index, words in found)
    return Finding(check, "failed", words, tuple(sorted({index for index, _ in found if index >= 0})))


def _each(
    machine: Machine, limits: Thresholds, check: Callable[[Device, Thresholds], Iterator[str]]
) -> Iterator[Fault]:
    for device in machine.devices:
        if not device.lost:
            yield from ((device.index, words) for words in check(device, limits))


def _ecc(device: Device, limits: Thresholds) -> Iterator[str]:
    for count, most, since in (
        (device.ecc_volatile, limits.max_uncorrected_errors, "since the driver was loaded"),
        (device.ecc_aggregate, limits.max_uncorrected_errors_ever, "in its life"),
    ):
        if count is not None and most is not None and count > most:
            yield f"{count} uncorrected memory errors {since}, at most {most} allowed"


def _remapped(device: Device, limits: Thresholds) -> Iterator[str]:
    rows, most = device.remapped_uncorrectable, limits.max_remapped_rows
    if device.remap_failed:
        yield "a memory row could not be remapped: replace the GPU"
    if device.remap_pending:
        yield "a memory row waits to be remapped: reset the GPU"
    if rows is not None and most is not None and rows > most:
        yield f"{rows} memory rows were remapped, at most {most} allowed"


def _temperature(device: Device, limits: Thresholds) -> Iterator[str]:
    most = device.slowdown_temperature if limits.max_temperature is None else limits.max_temperature
    if device.temperature is not None and most is not None and device.temperature >= most:
        yield f"{device.temperature} °C, below {most} allowed"


def _throttling(device: Device, limits: Thresholds) -> Iterator[str]:
    for reason in limits.throttling:
        if device.throttling & THROTTLING[reason]:
            yield f"its clock is lowered: {reason}"


def _links(device: Device, limits: Thresholds) -> Iterator[str]:
    active = [link for link in device.links if link.active]
    # A GPU alone in its machine has links that lead nowhere: without a number, all or none must be up.
    wanted = limits.min_active_links if limits.min_active_links is not None else len(device.links)
    if len(active) < wanted and (active or limits.min_active_links is not None):
        yield f"{len(active)} of {wanted} NVLinks are up"
    if limits.max_link_errors is not None:
        for link in active:
            if link.errors > limits.max_link_errors:
                yield f"NVLink {link.number} counts {link.errors} errors, {limits.max_link_errors} allowed"


def _pcie(device: Device, limits: Thresholds) -> Iterator[str]:
    wanted = limits.min_pcie_width if limits.min_pcie_width is not None else device.pcie_max_width
    if device.pcie_width is not None and wanted is not None and device.pcie_width < wanted:
        yield f"{device.pcie_width} of {wanted} PCIe lanes are up"


def _memory(device: Device, limits: Thresholds) -> Iterator[str]:
    most = limits.max_memory_used_percent
    used = 100 * device.memory_used / device.memory_total if device.memory_total else 0
    if most is not None and used > most:
        yield f"{used:.0f} % of its memory is in use, {most:g} % allowed"


def _power(device: Device, limits: Thresholds) -> Iterator[str]:
    least, limit = limits.min_power_limit_watts, device.power_limit_milliwatts
    if least is not None and limit is not None and limit / 1000 < least:
        yield f"its power is limited to {limit / 1000:g} W, {least:g} W wanted"


_OF_A_DEVICE: dict[str, Callable[[Device, Thresholds], Iterator[str]]] = {
    "ecc": _ecc,
    "remapped_rows": _remapped,
    "temperature": _temperature,
    "throttling": _throttling,
    "nvlink": _links,
    "pcie": _pcie,
    "memory": _memory,
    "power": _power,
}


def _xids(machine: Machine, limits: Thresholds, now: float) -> Iterator[Fault]:
    for xid in machine.xids:
        if xid.number not in limits.ignored_xids and now - xid.seconds <= limits.xid_seconds:
            yield _index(machine, xid.bus), f"XID {xid.number}: {xid.words}"


def _index(machine: Machine, bus: str) -> int:
    """The GPU at a bus address; -1 if none is there any more."""
    return next((one.index for one in machine.devices if one.bus and _place(one.bus) == _place(bus)), -1)


def _place(bus: str) -> tuple[int, ...]:
    """Domain, bus and device: the kernel writes 0000:9b:00 for what is 00000000:9b:00.0 to NVML."""
    return tuple(int(part.partition(".")[0], 16) for part in bus.split(":"))


def _trials(machine: Machine, limits: Thresholds) -> Iterator[Finding]:
    if not limits.trial:
        yield Finding("compute", "skipped", "trial is off")
        return
    reached = {index: one for index, one in machine.trials.items() if isinstance(one, Trial)}
    failed = [(index, one) for index, one in machine.trials.items() if isinstance(one, str)]
    wrong = [(index, f"{one.wrong} wrong results") for index, one in reached.items() if one.wrong]
    yield _finding("compute", iter([*failed, *wrong]))
    for check, least, unit in (
        ("tera_operations", limits.min_tera_operations, "TFLOP/s"),
        ("memory_gigabytes", limits.min_memory_gigabytes, "GB/s"),
        ("host_gigabytes", limits.min_host_gigabytes, "GB/s"),
    ):
        values = {index: getattr(one, check) for index, one in reached.items()}
        if least is None:
            yield Finding(check, "skipped", f"min_{check} is not given")
        else:
            slow = ((index, f"{value:.1f} {unit}, {least:g} wanted") for index, value in values.items())
            yield _finding(check, (fault for fault in slow if values[fault[0]] < least))
