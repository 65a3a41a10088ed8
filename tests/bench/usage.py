"""What a process takes of the machine."""

import psutil

MEBIBYTE = 2**20


def used_cpu_seconds(process: psutil.Process) -> float:
    """Seconds of CPU so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def resident_mebibytes(process: psutil.Process) -> float:
    """MiB in use now."""
    return float(process.memory_info().rss) / MEBIBYTE
