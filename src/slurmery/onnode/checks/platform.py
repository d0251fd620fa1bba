"""Which kind of machine this is: tags by which checks choose where they run, e.g. 8xH200, 8xGPU or CPU."""

import re
from pathlib import Path

_MODEL = re.compile(r"^Model:\s*(.+)$", re.MULTILINE)


def gpus(proc: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """The GPUs' models, as the driver tells without any library."""
    texts = (path.read_text() for path in sorted(proc.glob("*/information")))
    return [found[1] if (found := _MODEL.search(text)) else "" for text in texts]


def tags(models: list[str]) -> frozenset[str]:
    """The machine's tags."""
    if not models:
        return frozenset({"CPU"})
    words = {word for model in models for word in model.split() if re.fullmatch(r"[A-Z]+\d+[A-Z]*", word)}
    return frozenset({"GPU", f"{len(models)}xGPU", *(f"{len(models)}x{word}" for word in words)})
