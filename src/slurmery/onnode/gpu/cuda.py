"""A short computation on a GPU, by the driver's own interface: no toolkit, no compiler, no library.

Two kernels are given to the driver as PTX, which it compiles for whatever GPU is there:

    integers    every thread walks a linear congruential sequence forth and back and must end where it began
    floats      every thread does the same multiply-adds; all must come to the same bits

Copies within the GPU and from pinned host memory give the two bandwidths. Times are the GPU's own.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_void_p

from .reading import Trial

_LIBRARY = "libcuda.so.1"
_THREADS = 256
_BLOCKS = 4096
_STEPS = 20_000
_OPERATIONS_PER_STEP = 2 * 4  # four independent multiply-adds
_COPY_BYTES = 256 << 20
_COPIES = 10

_MULTIPLIER, _INCREMENT = 1664525, 1013904223
_BACK = pow(_MULTIPLIER, -1, 1 << 32)

_PTX = f"""
.version 6.0
.target sm_50
.address_size 64

.visible .entry integers(.param .u64 wrong, .param .u32 steps)
{{
  .reg .pred p; .reg .u32 r<8>; .reg .u64 d<3>;
  ld.param.u64 d0, [wrong]; cvta.to.global.u64 d1, d0; ld.param.u32 r0, [steps];
  mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x; mad.lo.u32 r4, r1, r2, r3;
  mov.u32 r5, r4; mov.u32 r6, 0;
forth:
  mad.lo.u32 r5, r5, {_MULTIPLIER}, {_INCREMENT};
  add.u32 r6, r6, 1; setp.lt.u32 p, r6, r0; @p bra forth;
  mov.u32 r6, 0;
back:
  sub.u32 r5, r5, {_INCREMENT}; mul.lo.u32 r5, r5, {_BACK};
  add.u32 r6, r6, 1; setp.lt.u32 p, r6, r0; @p bra back;
  setp.eq.u32 p, r5, r4; @p bra right;
  red.global.add.u32 [d1], 1;
right:
  ret;
}}

.visible .entry floats(.param .u64 results, .param .u32 steps)
{{
  .reg .pred p; .reg .u32 r<8>; .reg .u64 d<5>; .reg .f32 f<8>;
  ld.param.u64 d0, [results]; cvta.to.global.u64 d1, d0; ld.param.u32 r0, [steps];
  mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x; mad.lo.u32 r4, r1, r2, r3;
  mul.wide.u32 d2, r4, 4; add.u64 d3, d1, d2;
  mov.f32 f0, 0f3F000000; mov.f32 f1, 0f3F100000; mov.f32 f2, 0f3F200000; mov.f32 f3, 0f3F300000;
  mov.f32 f4, 0f3F7FF000; mov.f32 f5, 0f3A000000; mov.u32 r6, 0;
on:
  fma.rn.f32 f0, f0, f4, f5; fma.rn.f32 f1, f1, f4, f5; fma.rn.f32 f2, f2, f4, f5; fma.rn.f32 f3, f3, f4, f5;
  add.u32 r6, r6, 1; setp.lt.u32 p, r6, r0; @p bra on;
  add.f32 f0, f0, f1; add.f32 f2, f2, f3; add.f32 f0, f0, f2; st.global.f32 [d3], f0;
  ret;
}}
"""


class CudaError(Exception):
    """The driver refused; the text says what and why."""


class _Driver:
    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise CudaError(f"the driver's library cannot be loaded: {error}") from None

    def call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            words = ctypes.c_char_p()
            self._library.cuGetErrorString(code, byref(words))
            raise CudaError(f"{function}: {(words.value or b'error %d' % code).decode()}")

    @contextmanager
    def context(self, bus: str) -> Iterator[None]:
        """The GPU at a bus address, for as long as it is needed."""
        device, context = c_int(), c_void_p()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGetByPCIBusId", byref(device), bus.encode())
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        try:
            self.call("cuCtxSetCurrent", context)
            yield
        finally:
            self.call("cuDevicePrimaryCtxRelease_v2", device)

    @contextmanager
    def memory(self, size: int) -> Iterator[c_void_p]:
        pointer = c_void_p()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        try:
            yield pointer
        finally:
            self.call("cuMemFree_v2", pointer)

    @contextmanager
    def pinned(self, size: int) -> Iterator[c_void_p]:
        pointer = c_void_p()
        self.call("cuMemAllocHost_v2", byref(pointer), c_size_t(size))
        try:
            yield pointer
        finally:
            self.call("cuMemFreeHost", pointer)

    @contextmanager
    def timed(self) -> Iterator[list[float]]:
        """The list gets the seconds that the GPU took for what was asked meanwhile."""
        start, stop, seconds = c_void_p(), c_void_p(), list[float]()
        for event in (start, stop):
            self.call("cuEventCreate", byref(event), c_uint(0))
        self.call("cuEventRecord", start, None)
        yield seconds
        self.call("cuEventRecord", stop, None)
        self.call("cuEventSynchronize", stop)
        milliseconds = c_float()
        self.call("cuEventElapsedTime", byref(milliseconds), start, stop)
        seconds.append(milliseconds.value / 1000)

    def function(self, module: c_void_p, name: str) -> c_void_p:
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), module, name.encode())
        return function

    def launch(self, function: c_void_p, pointer: c_void_p, steps: int) -> None:
        first, second = ctypes.c_uint64(pointer.value or 0), c_uint(steps)
        arguments = (c_void_p * 2)(ctypes.addressof(first), ctypes.addressof(second))
        grid = [c_uint(each) for each in (_BLOCKS, 1, 1, _THREADS, 1, 1, 0)]
        self.call("cuLaunchKernel", function, *grid, None, arguments, None)


def attempt(bus: str) -> Trial:
    """Compute on the GPU at a bus address for about a second. Raises CudaError."""
    driver = _Driver()
    with driver.context(bus):
        module = c_void_p()
        driver.call("cuModuleLoadData", byref(module), _PTX.encode())
        try:
            wrong = _integers(driver, driver.function(module, "integers"))
            unequal, operations = _floats(driver, driver.function(module, "floats"))
        finally:
            driver.call("cuModuleUnload", module)
        memory, host = _bandwidths(driver)
    return Trial(wrong + unequal, operations / 1e12, memory / 1e9, host / 1e9)


def _integers(driver: _Driver, function: c_void_p) -> int:
    wrong = c_uint()
    with driver.memory(4) as counter:
        driver.call("cuMemsetD32_v2", counter, c_uint(0), c_size_t(1))
        driver.launch(function, counter, _STEPS)
        driver.call("cuMemcpyDtoH_v2", byref(wrong), counter, c_size_t(4))
    return wrong.value


def _floats(driver: _Driver, function: c_void_p) -> tuple[int, float]:
    """How many threads came to another result than the first, and operations per second."""
    threads = _BLOCKS * _THREADS
    results = ctypes.create_string_buffer(4 * threads)
    with driver.memory(4 * threads) as pointer:
        driver.launch(function, pointer, _STEPS)
        with driver.timed() as seconds:
            driver.launch(function, pointer, _STEPS)
        driver.call("cuMemcpyDtoH_v2", results, pointer, c_size_t(4 * threads))
    values = memoryview(results.raw).cast("I")
    first = values[0]
    unequal = 0 if results.raw == results.raw[:4] * threads else sum(each != first for each in values)
    return unequal, threads * _STEPS * _OPERATIONS_PER_STEP / seconds[0]


def _bandwidths(driver: _Driver) -> tuple[float, float]:
    """Bytes per second within the GPU (read and written) and from the host."""
    size = c_size_t(_COPY_BYTES)
    with driver.memory(_COPY_BYTES) as here, driver.memory(_COPY_BYTES) as there:
        driver.call("cuMemcpyDtoD_v2", there, here, size)
        with driver.timed() as within:
            for _ in range(_COPIES):
                driver.call("cuMemcpyDtoD_v2", there, here, size)
        with driver.pinned(_COPY_BYTES) as host:
            driver.call("cuMemcpyHtoD_v2", here, host, size)
            with driver.timed() as across:
                driver.call("cuMemcpyHtoD_v2", here, host, size)
    return 2 * _COPIES * _COPY_BYTES / within[0], _COPY_BYTES / across[0]
