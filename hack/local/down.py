"""`make down`: stop every process of the local system and remove its state."""

import asyncio
import signal
from pathlib import Path

import psutil

from hack.cluster.process import NAME, POLL_SECONDS, mark, marked
from hack.local import clusters, postgres, settings
from hack.local.state_dir import remove

CLUSTER_PARTS = frozenset(
    ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "nats-server")
)
SERVERS = CLUSTER_PARTS | {postgres.PROCESS}
CLEAN_STOP_SECONDS = 30.0
REAP_SECONDS = 5.0


async def take_down(home: Path) -> None:
    """Stop everything, then delete the folder; what another cluster holds is left and named."""
    stored = settings.load(home)
    stopped = await stop_processes(home)
    if stored and stored.cluster == "kind":
        await clusters.delete_kind()
    if stored and stored.cluster == "current":
        print("left in the cluster; to remove it: kubectl delete -k manifests/rbac")
    remove(home)
    print(f"stopped {len(stopped)} processes: {', '.join(stopped)}" if stopped else "nothing ran")


async def stop_processes(home: Path) -> list[str]:
    """Our programs stop cleanly while their cluster is there; the cluster itself is killed.

    Nothing of the cluster needs a clean stop: after kill -9 it starts again from the same data. But
    PostgreSQL leaves shared memory behind when it is killed.
    """
    ours: list[psutil.Process] = []
    parts: list[psutil.Process] = []
    for process in marked(home):
        (parts if mark(process, NAME) in SERVERS else ours).append(process)
    names = sorted(mark(process, NAME) or str(process.pid) for process in [*ours, *parts])
    await end(ours, signal.SIGTERM)
    await end([each for each in parts if mark(each, NAME) == postgres.PROCESS], postgres.STOP)
    await end([*ours, *parts], signal.SIGKILL)
    await reaped([*ours, *parts])
    for name in names:
        (home / "pids" / name).unlink(missing_ok=True)
    (home / "env").unlink(missing_ok=True)
    return names


async def end(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Signal the processes and wait until they are gone or the time for a clean stop is over."""
    for process in processes:
        try:
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
        except psutil.NoSuchProcess:
            continue
    try:
        async with asyncio.timeout(CLEAN_STOP_SECONDS):
            while any(map(is_alive, processes)):  # noqa: ASYNC110 - they are not our children
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


async def reaped(processes: list[psutil.Process]) -> None:
    """Wait until not even their pids are left, as far as whoever inherited them sees to it."""
    try:
        async with asyncio.timeout(REAP_SECONDS):
            while not all([has_no_pid(process) for process in processes]):  # noqa: ASYNC110, C419
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


def has_no_pid(process: psutil.Process) -> bool:
    """Whether even the pid is free; reaps a child of this very process."""
    try:
        process.wait(timeout=0)
    except psutil.TimeoutExpired:
        return False
    return True


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
