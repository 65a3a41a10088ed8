"""The command `make down`, which stops every process of the local system and removes its state."""

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
    """Stop all processes and delete the folder; print how to clean up a cluster of the user."""
    stored = settings.load_settings(state_dir)
    stopped = await stop_processes(state_dir)
    if stored and stored.cluster == "kind":
        await clusters.delete_kind_cluster()
    if stored and stored.cluster == "current":
        print(
            "namespaces, accounts and roles stay in the cluster; to delete them: "
            "kubectl delete -k manifests/rbac"
        )
    remove_state_dir(state_dir)
    names = ", ".join(stopped)
    print(f"stopped {len(stopped)} processes: {names}" if stopped else "no process was running")


async def stop_processes(state_dir: Path) -> list[str]:
    """Stop our programs cleanly while the cluster runs, then kill the cluster.

    The cluster needs no clean stop: after kill -9 it starts again from the same data. PostgreSQL
    needs one, because it leaves shared memory behind when it is killed.
    """
    programs: list[psutil.Process] = []
    servers: list[psutil.Process] = []
    for process in marked_processes(state_dir):
        (
            servers if read_mark(process, PROCESS_NAME_VARIABLE) in SERVER_PROCESSES else programs
        ).append(process)
    names = sorted(
        read_mark(process, PROCESS_NAME_VARIABLE) or str(process.pid)
        for process in [*programs, *servers]
    )
    await signal_and_wait(programs, signal.SIGTERM)
    await signal_and_wait(
        [
            process
            for process in servers
            if read_mark(process, PROCESS_NAME_VARIABLE) == postgres.PROCESS_NAME
        ],
        postgres.STOP_SIGNAL,
    )
    await signal_and_wait([*programs, *servers], signal.SIGKILL)
    await wait_reaped([*programs, *servers])
    for name in names:
        (state_dir / "pids" / name).unlink(missing_ok=True)
    (state_dir / "env").unlink(missing_ok=True)
    return names


async def signal_and_wait(processes: list[psutil.Process], signal_number: signal.Signals) -> None:
    """Signal the processes.

    Wait until they have ended, or until the time for a clean stop is over.
    """
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
    """Wait until the pids are free as well, which depends on the parents of the processes."""
    try:
        async with asyncio.timeout(REAP_SECONDS):
            while not all([is_reaped(process) for process in processes]):  # noqa: ASYNC110, C419
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


def is_reaped(process: psutil.Process) -> bool:
    """Return whether the pid is free; reap a child of this process."""
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
