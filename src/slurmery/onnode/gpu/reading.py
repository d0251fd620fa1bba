"""What was read and measured of the GPUs of a machine. None is a question that the GPU does not support."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Link:
    """One NVLink of a GPU."""

    number: int
    active: bool
    errors: int


@dataclass(frozen=True)
class Trial:
    """A short computation: what it reached, and how many results were wrong."""

    wrong: int
    tera_operations: float
    memory_gigabytes: float
    host_gigabytes: float


@dataclass(frozen=True)
class Device:
    """One GPU. `lost` says why it could not be asked at all; `throttling` is NVML's bit mask of reasons."""

    index: int
    lost: str = ""
    name: str = ""
    uuid: str = ""
    bus: str = ""
    ecc_enabled: bool | None = None
    ecc_volatile: int | None = None
    ecc_aggregate: int | None = None
    remapped_uncorrectable: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    memory_total: int = 0
    memory_used: int = 0
    temperature: int | None = None
    slowdown_temperature: int | None = None
    power_milliwatts: int | None = None
    power_limit_milliwatts: int | None = None
    sm_clock: int | None = None
    throttling: int = 0
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_max_width: int | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Who uses a GPU at this moment. Processes of other containers are seen by their memory alone."""

    index: int
    processes: int
    memory_percent: float


@dataclass(frozen=True)
class Xid:
    """An error in the kernel's log: its number, the GPU's bus, and when, in seconds after boot."""

    number: int
    bus: str
    seconds: float
    words: str


@dataclass(frozen=True)
class Machine:
    """All that the verdict is made of. `trials` are by the GPU's index; one that failed to run is a text."""

    driver: str
    devices: tuple[Device, ...]
    xids: tuple[Xid, ...] = ()
    trials: dict[int, Trial | str] = field(default_factory=dict)
