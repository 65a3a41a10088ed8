"""`make up` and related commands, from a new user's point of view."""

import asyncio
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psutil
import pytest

from hack.cluster.ports import HOST
from hack.local import postgres, result_store
from hack.local.command import Kubectl
from tests.support.cluster.local_system import LocalSystem
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

PROCESSES = {
    "activator",
    "controller",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "nats-server",
    "pod-runner",
    "runtime-api",
    *(result_store.PROCESS_NAMES if postgres.find_postgres_dir() else ()),
}


RESULT_STORE_PROCESSES = result_store.PROCESS_NAMES if postgres.find_postgres_dir() else ()
# Processes that are killed together, since each group costs one `make up`.
GROUPS = [
    ("etcd",),
    ("kube-apiserver",),
    ("nats-server", "kwok"),
    ("kube-controller-manager", "kube-scheduler"),
    ("activator", "controller", "pod-runner", "runtime-api"),
    *((name,) for name in RESULT_STORE_PROCESSES),
]


SHARED_MEMORY = Path("/proc/sysvipc/shm")
CONTROL_PLANE_PROCESSES = frozenset(("etcd", "kube-apiserver"))
# A leader that cannot renew its lease for ten seconds ends; the duration of an `up` has no bound.
LEADERS = frozenset(("activator", "controller"))


@contextmanager
def listen_on_ports(*ports: int) -> Iterator[None]:
    """Listen on the ports that the system prefers, as another program would."""
    with ExitStack() as listeners:
        for port in ports:
            listener = listeners.enter_context(closing(socket.socket()))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((HOST, port))
            listener.listen()
        yield


def write_wrong_program(folder: Path, name: str) -> str:
    """Create a folder for PATH with a program of that name and of another release."""
    folder.mkdir(parents=True)
    program = folder / name
    program.write_text("#!/bin/sh\necho Kubernetes v1.20.0\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.fixture(scope="module")
def first_screen() -> list[str]:
    """Return the output of the first `make up` of this file."""
    return []


@pytest.fixture(scope="module")
def system(run_dir: Path, first_screen: list[str]) -> Iterator[LocalSystem]:
    """Bring up a system in a folder with a space in its name.

    Ports are in use and PATH is wrong.
    """
    path = write_wrong_program(run_dir / "wrong", "kube-apiserver")
    local = LocalSystem(run_dir / "a user's" / "local", {"PATH": f"{path}:/usr/bin:/bin"})
    with listen_on_ports(
        local.preferred_port("runtime-api"), local.preferred_port("kube-apiserver")
    ):
        first_screen.append(asyncio.run(local.up()))
    yield local
    asyncio.run(local.down())


@pytest.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[LocalSystem]:
    """Return a system that was never up."""
    local = LocalSystem(tmp_path / "local")
    yield local
    await local.kill_commands()
    await local.down()


async def test_the_summary_of_make_up_lists_processes_and_example_commands(
    system: LocalSystem, first_screen: list[str]
) -> None:
    (screen,) = first_screen
    api = system.environment()["BASE_URL"]
    assert f"curl -s {api}/api/v1/health" in screen
    assert "get nodes" in screen
    assert f"{api}/swagger" in screen
    for name, pid in system.running_pids().items():
        assert any(name in line and f"pid {pid}" in line for line in screen.splitlines())


async def test_the_example_commands_of_the_summary_work(system: LocalSystem) -> None:
    environment = system.environment()
    _, health = await eventually(
        lambda: get(f"{environment['BASE_URL']}/api/v1/health"),
        lambda result: (
            result[1]["data"]["kubernetesConnected"] and result[1]["data"]["queueConnected"]
        ),
    )
    assert health["data"]["totalGPUCapacity"] == 32
    kubectl = Kubectl(Path(environment["KUBECTL"]), Path(environment["KUBECONFIG"]))
    assert (await kubectl.run("get", "nodes", "-o", "name")).split() == [
        f"node/gpu-{number}" for number in range(4)
    ]
    assert (await get(f"{environment['BASE_URL']}/swagger"))[0] == 200
    for path in ("healthz", "readyz", "metrics"):
        url = f"{environment['CONTROLLER_URL']}/{path}"
        await eventually(lambda url=url: get(url), lambda result: result[0] == 200)  # type: ignore[misc]


async def test_ports_of_other_programs_are_replaced(system: LocalSystem) -> None:
    preferred = system.preferred_port("runtime-api")
    assert system.environment()["BASE_URL"] != f"http://{HOST}:{preferred}"


async def test_a_program_of_the_wrong_version_is_reported_and_not_used(
    system: LocalSystem, first_screen: list[str]
) -> None:
    assert "kube-apiserver (PATH) is v1.20.0" in first_screen[0]
    used = Path(psutil.Process(system.running_pids()["kube-apiserver"]).exe())
    assert used.parent.name != "wrong"


async def test_every_process_has_a_pid_file_with_its_own_pid(system: LocalSystem) -> None:
    assert system.running_pids().keys() == PROCESSES
    assert system.pid_files() == system.running_pids()


async def test_all_processes_listen_on_loopback_only(system: LocalSystem) -> None:
    for pid in system.running_pids().values():
        listening = [
            connection.laddr.ip
            for connection in psutil.Process(pid).net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
        assert set(listening) <= {HOST}


async def test_a_second_make_up_changes_nothing(system: LocalSystem) -> None:
    before = system.running_pids()
    await system.up()
    assert system.running_pids() == before


async def test_two_concurrent_make_up_start_one_system(system: LocalSystem) -> None:
    await system.kill("controller", "kwok")
    await asyncio.gather(system.up(), system.up())
    assert system.pid_files() == system.running_pids()
    assert system.running_pids().keys() == PROCESSES


@pytest.mark.parametrize("killed", GROUPS, ids="+".join)
async def test_killed_processes_are_reported_and_make_up_restarts_them(
    system: LocalSystem, killed: tuple[str, ...]
) -> None:
    before = system.running_pids()
    await system.kill(*killed)
    code, report = await system.run_command("status")
    assert code == 1
    stopped = {line.split()[0] for line in report.splitlines() if "stopped" in line.split()}
    may_end = LEADERS if CONTROL_PLANE_PROCESSES.intersection(killed) else frozenset()
    assert stopped - may_end == set(killed)
    await system.up()
    after = system.running_pids()
    assert {name for name in after if after[name] != before[name]} - may_end == set(
        killed
    ) - may_end
    assert after.keys() == before.keys()
    await wait_healthy(system)


async def wait_healthy(system: LocalSystem) -> str:
    """Return the status once everything is ready; on a busy machine readiness may flap."""
    _, report = await eventually(
        lambda: system.run_command("status"), lambda result: result[0] == 0
    )
    return report


async def test_make_status_of_a_healthy_system_succeeds(system: LocalSystem) -> None:
    report = await wait_healthy(system)
    assert len([line for line in report.splitlines() if "pid" in line]) == len(PROCESSES)


async def test_make_logs_follows_every_process(system: LocalSystem) -> None:
    logs_command = await system.start_command("logs")
    try:
        assert logs_command.stdout is not None
        names: set[str] = set()
        async with asyncio.timeout(60):
            while not {"controller", "runtime-api", "kwok"} <= names:
                names.add((await logs_command.stdout.readline()).decode().split("|")[0].strip())
    finally:
        logs_command.send_signal(signal.SIGINT)
        await logs_command.communicate()


async def test_an_extra_api_process_is_stopped_by_make_down(
    system: LocalSystem,
) -> None:
    extra = await system.start_command("run", "api", "--http-addr", "127.0.0.1:0")
    try:
        await eventually(
            lambda: asyncio.sleep(0, system.running_pids()),
            lambda names: "runtime-api (extra)" in names,
        )
        assert extra.stdout is not None
        async with asyncio.timeout(60):
            while b"cluster_connected" not in (line := await extra.stdout.readline()):
                assert line, "the process has ended"
    finally:
        extra.terminate()
        await extra.communicate()
    assert extra.returncode == 0


def shared_memory_creators() -> set[int]:
    """Return the pids that created shared memory segments that still exist.

    Only Linux lists them.
    """
    _, *segments = SHARED_MEMORY.read_text().splitlines() if SHARED_MEMORY.exists() else [""]
    return {int(segment.split()[4]) for segment in segments}


async def test_make_down_leaves_no_process_and_no_file(fresh: LocalSystem) -> None:
    await fresh.up("--nodes", "1", "--gpus", "2")
    _, health = await get(f"{fresh.environment()['BASE_URL']}/api/v1/health")
    assert (health["data"]["nodeCount"], health["data"]["totalGPUCapacity"]) == (1, 2)
    pids = set(fresh.running_pids().values())
    await fresh.down()
    assert fresh.running_pids() == {}
    assert not pids & shared_memory_creators()
    assert not fresh.state_dir.exists()
    code, report = await fresh.run_command("status")
    assert (code, "make up" in report) == (1, True)


def block_start(state_dir: Path, name: str) -> None:
    """Block the start of a process: its log becomes a pipe without a reader."""
    (state_dir / "logs").mkdir(parents=True)
    os.mkfifo(state_dir / "logs" / f"{name}.log")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("process", ["etcd", "kwok", "runtime-api"])
async def test_an_interrupted_make_up_leaves_no_process(
    fresh: LocalSystem, process: str, number: signal.Signals
) -> None:
    block_start(fresh.state_dir, "pod-runner")  # a finished command cannot be interrupted
    up_command = await fresh.start_command("up")
    pid_file = fresh.state_dir / "pids" / process
    await eventually(lambda: asyncio.sleep(0, pid_file.exists()))
    up_command.send_signal(number)
    output, _ = await up_command.communicate()
    assert up_command.returncode == 130, output.decode()
    assert fresh.running_pids() == {}


async def test_a_killed_make_up_is_repaired_by_the_next_make_up(fresh: LocalSystem) -> None:
    up_command = await fresh.start_command("up")
    pid_file = fresh.state_dir / "pids" / "kube-apiserver"
    await eventually(lambda: asyncio.sleep(0, pid_file.exists()))
    up_command.kill()
    await up_command.communicate()
    await fresh.up()
    assert fresh.pid_files() == fresh.running_pids()
    assert fresh.running_pids().keys() == PROCESSES


async def test_the_size_of_the_fleet_is_kept_and_can_be_changed(system: LocalSystem) -> None:
    async def health() -> dict[str, int]:
        _, body = await get(f"{system.environment()['BASE_URL']}/api/v1/health")
        data: dict[str, int] = body["data"]
        return data

    await system.up("--nodes", "2", "--gpus", "4")
    await eventually(health, lambda data: data["totalGPUCapacity"] == 8)
    await system.up()
    assert (await health())["nodeCount"] == 2
    await system.up("--nodes", "4", "--gpus", "8")
    await eventually(health, lambda data: data["totalGPUCapacity"] == 32)
