"""`make down`: stop every process of the local system and remove its state."""

import asyncio
import signal
from pathlib import Path

import psutil

from hack.cluster.process import POLL_SECONDS, PROCESS_NAME_VARIABLE, marked_processes, read_mark
from hack.local import clusters, postgres, settings
from hack.local.state_dir import remove_state_dir

CLUSTER_PROCESSES = frozenset(
    ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "nats-server")
)
SERVER_PROCESSES = CLUSTER_PROCESSES | {postgres.PROCESS_NAME}
CLEAN_STOP_SECONDS = 30.0
REAP_SECONDS = 5.0


async def take_down(state_dir: Path) -> None:
    """Stop everything, then delete the folder; what another cluster holds is left and named."""
    stored = settings.load_settings(state_dir)
    stopped = await stop_processes(state_dir)
    if stored and stored.cluster == "kind":
        await clusters.delete_kind_cluster()
    if stored and stored.cluster == "current":
        print("left in the cluster; to remove it: kubectl delete -k manifests/rbac")
    remove_state_dir(state_dir)
    print(f"stopped {len(stopped)} processes: {', '.join(stopped)}" if stopped else "nothing ran")


async def stop_processes(state_dir: Path) -> list[str]:
    """Our programs stop cleanly while their cluster is there; the cluster itself is killed.

    Nothing of the cluster needs a clean stop: after kill -9 it starts again from the same data. But
    PostgreSQL leaves shared memory behind when it is killed.
    """
    ours: list[psutil.Process] = []
    parts: list[psutil.Process] = []
    for process in marked_processes(state_dir):
        (parts if read_mark(process, PROCESS_NAME_VARIABLE) in SERVER_PROCESSES else ours).append(
            process
        )
    names = sorted(
        read_mark(process, PROCESS_NAME_VARIABLE) or str(process.pid) for process in [*ours, *parts]
    )
    await signal_and_wait(ours, signal.SIGTERM)
    await signal_and_wait(
        [each for each in parts if read_mark(each, PROCESS_NAME_VARIABLE) == postgres.PROCESS_NAME],
        postgres.STOP_SIGNAL,
    )
    await signal_and_wait([*ours, *parts], signal.SIGKILL)
    await wait_reaped([*ours, *parts])
    for name in names:
        (state_dir / "pids" / name).unlink(missing_ok=True)
    (state_dir / "env").unlink(missing_ok=True)
    return names


async def signal_and_wait(processes: list[psutil.Process], signal_number: signal.Signals) -> None:
    """Signal the processes and wait until they are gone or the time for a clean stop is over."""
    for process in processes:
        try:
            process.send_signal(signal_number)
            process.send_signal(signal.SIGCONT)
        except psutil.NoSuchProcess:
            continue
    try:
        async with asyncio.timeout(CLEAN_STOP_SECONDS):
            while any(map(is_alive, processes)):  # noqa: ASYNC110 - they are not our children
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


async def wait_reaped(processes: list[psutil.Process]) -> None:
    """Wait until not even their pids are left, as far as whoever inherited them sees to it."""
    try:
        async with asyncio.timeout(REAP_SECONDS):
            while not all([is_reaped(process) for process in processes]):  # noqa: ASYNC110, C419
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


def is_reaped(process: psutil.Process) -> bool:
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
