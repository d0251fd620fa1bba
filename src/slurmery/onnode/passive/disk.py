"""Is there room on the machine's own disk? Jobs that fill it take slurmd and the kubelet with them."""

import os
from collections.abc import Mapping


def boot_disk_full(_environment: Mapping[str, str], percent: str = "80", path: str = "/") -> str:
    """Fails above so many percent of the space that users may fill."""
    disk = os.statvfs(path)
    used = disk.f_blocks - disk.f_bfree
    share = 100 * used / ((used + disk.f_bavail) or 1)
    return f"{path} is {share:.0f} % full, {percent} % are allowed" if share > float(percent) else ""
