"""The command `make status`: the running processes, their addresses and their readiness."""

import asyncio
from pathlib import Path

import aiohttp

from hack.cluster.process import PROCESS_NAME_VARIABLE, marked_processes, read_mark
from hack.cluster.readiness import responds_ok
from hack.local import pod_runner, product_processes, result_store, settings, summary
from hack.local.down import CLUSTER_PROCESSES
from hack.local.settings import LocalSettings


async def print_status(state_dir: Path) -> bool:
    """Print one line for each process; return whether all expected processes run and are ready."""
    stored = settings.load_settings(state_dir)
    if stored is None:
        print("no local system is set up here; make up starts one")
        return False
    running = {
        read_mark(process, PROCESS_NAME_VARIABLE): process.pid
        for process in marked_processes(state_dir)
    }
    expected = expected_processes(state_dir, stored)
    ready = await asyncio.gather(*(readiness_text(name, stored) for name in expected))
    for name, readiness in zip(expected, ready, strict=True):
        state = "stopped" if name not in running else readiness
        pid = f"pid {running[name]}" if name in running else ""
        print(f"  {name:<24}{state:<12}{summary.process_address(name, stored):<32}{pid}")
    extra = sorted(str(name) for name in running.keys() - set(expected))
    print(f"  also running: {', '.join(extra)}" if extra else "", end="\n" if extra else "")
    healthy = all(name in running for name in expected) and "not ready" not in ready
    print("" if healthy else "make up starts the missing processes; make logs shows why they ended")
    return healthy


def expected_processes(state_dir: Path, stored: LocalSettings) -> list[str]:
    is_local = stored.cluster == "local"
    servers = {*CLUSTER_PROCESSES, pod_runner.PROCESS_NAME} if is_local else {"nats-server"}
    names = {*servers, *result_store.expected_processes(state_dir)}
    return [*(program.name for program in product_processes.PRODUCT_PROGRAMS), *sorted(names)]


async def readiness_text(name: str, stored: LocalSettings) -> str:
    """Return "ready" or "not ready" for our programs, and "running" for others."""
    for program in (*product_processes.PRODUCT_PROGRAMS, product_processes.RESULT_STORE):
        if program.name == name:
            try:
                ready = await responds_ok(
                    f"{product_processes.program_url(stored.ports, program)}/readyz"
                )
            except (aiohttp.ClientError, OSError):
                return "not ready"
            return "ready" if ready else "not ready"
    return "running"
