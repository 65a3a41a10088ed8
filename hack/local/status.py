"""`make status`: what runs, where, and whether it is ready."""

import asyncio
from pathlib import Path

import aiohttp

from hack.cluster.process import NAME, mark, marked
from hack.cluster.readiness import answers
from hack.local import pod_runner, product_processes, result_store, settings, summary
from hack.local.down import CLUSTER_PARTS
from hack.local.settings import Settings


async def report(home: Path) -> bool:
    """Print one line a process; whether all that should run runs and is ready."""
    stored = settings.load(home)
    if stored is None:
        print("nothing is set up here; make up starts it")
        return False
    running = {mark(process, NAME): process.pid for process in marked(home)}
    expected = expected_names(home, stored)
    ready = await asyncio.gather(*(is_ready(name, stored) for name in expected))
    for name, answer in zip(expected, ready, strict=True):
        state = "stopped" if name not in running else answer
        pid = f"pid {running[name]}" if name in running else ""
        print(f"  {name:<24}{state:<12}{summary.address(name, stored):<32}{pid}")
    extra = sorted(str(name) for name in running.keys() - set(expected))
    print(f"  also running: {', '.join(extra)}" if extra else "", end="\n" if extra else "")
    healthy = all(name in running for name in expected) and "not ready" not in ready
    print("" if healthy else "make up starts what is missing; make logs shows why it ended")
    return healthy


def expected_names(home: Path, stored: Settings) -> list[str]:
    is_local = stored.cluster == "local"
    parts = {*CLUSTER_PARTS, pod_runner.NAME} if is_local else {"nats-server"}
    names = {*parts, *result_store.expected(home)}
    return [*(program.name for program in product_processes.PROGRAMS), *sorted(names)]


async def is_ready(name: str, stored: Settings) -> str:
    """Our programs tell; a part of the cluster counts as ready while it runs."""
    for program in (*product_processes.PROGRAMS, product_processes.RESULT_STORE):
        if program.name == name:
            try:
                ready = await answers(f"{product_processes.url(stored.ports, program)}/readyz")
            except (aiohttp.ClientError, OSError):
                return "not ready"
            return "ready" if ready else "not ready"
    return "running"
