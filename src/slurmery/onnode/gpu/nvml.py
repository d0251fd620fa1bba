"""NVIDIA's management library, by ctypes: what each GPU says of itself.

NoGpuError      there is no driver or no library: nothing to check
NvmlError       the library refused; the text says what and why
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char, c_int, c_uint, c_ulonglong, c_void_p

from .reading import Device, Link, Usage

_LIBRARY = "libnvidia-ml.so.1"
_NOT_SUPPORTED = frozenset({3, 13})
_NO_DRIVER = frozenset({9, 12})
_TOO_SMALL = 7
_MOST_LINKS = 18
_UNCORRECTED, _VOLATILE, _AGGREGATE = 1, 0, 1
_SM_CLOCK = 1
_SLOWDOWN = 1
_NVLINK_COUNTERS = (0, 1, 2)  # replay, recovery, CRC of flits


class NvmlError(Exception):
    """NVML refused a question."""

    def __init__(self, call: str, code: int, words: str) -> None:
        super().__init__(f"{call}: {words}")
        self.code = code


class NoGpuError(Exception):
    """This machine has no NVIDIA driver."""


class _Memory(ctypes.Structure):
    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class _Pci(ctypes.Structure):
    _fields_ = [
        ("legacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("device_id", c_uint),
        ("subsystem", c_uint),
        ("bus_id", c_char * 32),
    ]


@contextmanager
def opened() -> Iterator["Nvml"]:
    """The library, for as long as it is needed."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        raise NoGpuError("no GPU: the NVIDIA driver's library is not here") from None
    nvml = Nvml(library)
    try:
        nvml.call("nvmlInit_v2")
    except NvmlError as error:
        if error.code in _NO_DRIVER:
            raise NoGpuError("no GPU: the NVIDIA driver is not loaded") from None
        raise
    try:
        yield nvml
    finally:
        nvml.call("nvmlShutdown")


class Nvml:
    """Questions to the library. A question that a GPU does not support is answered with None."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._library.nvmlErrorString.restype = ctypes.c_char_p

    def call(self, function: str, *arguments: object) -> None:
        """One call; anything but success raises."""
        code = getattr(self._library, function)(*arguments)
        if code:
            raise NvmlError(function, code, self._library.nvmlErrorString(code).decode())

    def driver(self) -> str:
        text = ctypes.create_string_buffer(80)
        self.call("nvmlSystemGetDriverVersion", text, c_uint(len(text)))
        return text.value.decode()

    def devices(self) -> tuple[Device, ...]:
        """Every GPU the driver knows of, also those that fell off the bus."""
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        return tuple(self._device(index) for index in range(count.value))

    def usage(self) -> tuple[Usage, ...]:
        """Who uses the GPUs at this moment."""
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        return tuple(self._usage(index) for index in range(count.value))

    def _usage(self, index: int) -> Usage:
        handle, memory = c_void_p(), _Memory()
        self.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
        self.call("nvmlDeviceGetMemoryInfo", handle, byref(memory))
        return Usage(index, self._processes(handle), 100 * memory.used / (memory.total or 1))

    def _processes(self, handle: c_void_p) -> int:
        """Only how many: with no room for their names, that is what the refusal tells."""
        count = c_uint()
        try:
            self.call("nvmlDeviceGetComputeRunningProcesses_v3", handle, byref(count), None)
        except NvmlError as error:
            if error.code != _TOO_SMALL:
                raise
        return count.value

    def _device(self, index: int) -> Device:
        handle = c_void_p()
        try:
            self.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
            return self._read(index, handle)
        except NvmlError as error:
            return Device(index=index, lost=str(error))

    def _read(self, index: int, handle: c_void_p) -> Device:
        memory, pci = _Memory(), _Pci()
        self.call("nvmlDeviceGetMemoryInfo", handle, byref(memory))
        self.call("nvmlDeviceGetPciInfo_v3", handle, byref(pci))
        remapped = self._numbers("nvmlDeviceGetRemappedRows", handle, 4)
        ecc = self._numbers("nvmlDeviceGetEccMode", handle, 2)
        return Device(
            index=index,
            name=self._text("nvmlDeviceGetName", handle),
            uuid=self._text("nvmlDeviceGetUUID", handle),
            bus=pci.bus_id.decode().lower(),
            ecc_enabled=None if ecc is None else bool(ecc[0]),
            ecc_volatile=self._errors(handle, _VOLATILE),
            ecc_aggregate=self._errors(handle, _AGGREGATE),
            remapped_uncorrectable=remapped[1] if remapped else None,
            remap_pending=bool(remapped[2]) if remapped else None,
            remap_failed=bool(remapped[3]) if remapped else None,
            memory_total=memory.total,
            memory_used=memory.used,
            temperature=self._number("nvmlDeviceGetTemperature", handle, c_uint(0)),
            slowdown_temperature=self._number("nvmlDeviceGetTemperatureThreshold", handle, c_uint(_SLOWDOWN)),
            power_milliwatts=self._number("nvmlDeviceGetPowerUsage", handle),
            power_limit_milliwatts=self._number("nvmlDeviceGetEnforcedPowerLimit", handle),
            sm_clock=self._number("nvmlDeviceGetClockInfo", handle, c_uint(_SM_CLOCK)),
            throttling=self._long("nvmlDeviceGetCurrentClocksThrottleReasons", handle) or 0,
            pcie_generation=self._number("nvmlDeviceGetCurrPcieLinkGeneration", handle),
            pcie_width=self._number("nvmlDeviceGetCurrPcieLinkWidth", handle),
            pcie_max_width=self._number("nvmlDeviceGetMaxPcieLinkWidth", handle),
            links=tuple(self._links(handle)),
        )

    def _links(self, handle: c_void_p) -> Iterator[Link]:
        for number in range(_MOST_LINKS):
            state = self._number("nvmlDeviceGetNvLinkState", handle, c_uint(number))
            if state is None:
                return
            counters = [
                self._long("nvmlDeviceGetNvLinkErrorCounter", handle, c_uint(number), c_uint(counter))
                for counter in _NVLINK_COUNTERS
            ]
            yield Link(number, active=bool(state), errors=sum(each or 0 for each in counters))

    def _errors(self, handle: c_void_p, counter: int) -> int | None:
        return self._long("nvmlDeviceGetTotalEccErrors", handle, c_int(_UNCORRECTED), c_int(counter))

    def _text(self, function: str, handle: c_void_p) -> str:
        text = ctypes.create_string_buffer(96)
        self.call(function, handle, text, c_uint(len(text)))
        return text.value.decode()

    def _number(self, function: str, handle: c_void_p, *arguments: object) -> int | None:
        value = c_uint()
        return value.value if self._asked(function, handle, *arguments, byref(value)) else None

    def _long(self, function: str, handle: c_void_p, *arguments: object) -> int | None:
        value = c_ulonglong()
        return value.value if self._asked(function, handle, *arguments, byref(value)) else None

    def _numbers(self, function: str, handle: c_void_p, count: int) -> list[int] | None:
        values = [c_uint() for _ in range(count)]
        asked = self._asked(function, handle, *(byref(each) for each in values))
        return [each.value for each in values] if asked else None

    def _asked(self, function: str, *arguments: object) -> bool:
        try:
            self.call(function, *arguments)
        except NvmlError as error:
            if error.code in _NOT_SUPPORTED or error.code == _INVALID:
                return False
            raise
        return True


# A link number that this kind of GPU does not have.
_INVALID = 2
