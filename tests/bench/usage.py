"""CPU and memory of a process."""

import psutil

MEBIBYTE = 2**20


def used_cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds that the process has used so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def resident_mebibytes(process: psutil.Process) -> float:
    """Return the resident memory of the process in MiB."""
    return float(process.memory_info().rss) / MEBIBYTE
