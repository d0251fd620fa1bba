"""Which kind of machine this is: tags by which checks choose where they run, e.g. 8xH200, 8xGPU or CPU."""

import os
import re

_MODEL = re.compile(r"^Model:\s*(.+)$", re.MULTILINE)


def gpus(proc: str = "/proc/driver/nvidia/gpus") -> list[str]:
    """The GPUs' models, as the driver tells without any library."""
    models = []
    for bus in sorted(os.listdir(proc)) if os.path.isdir(proc) else ():
        with open(f"{proc}/{bus}/information") as told:
            found = _MODEL.search(told.read())
        models.append(found[1] if found else "")
    return models


def tags(models: list[str]) -> frozenset[str]:
    """The machine's tags."""
    if not models:
        return frozenset({"CPU"})
    words = {word for model in models for word in model.split() if re.fullmatch(r"[A-Z]+\d+[A-Z]*", word)}
    return frozenset({"GPU", f"{len(models)}xGPU", *(f"{len(models)}x{word}" for word in words)})
