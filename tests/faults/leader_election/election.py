"""Candidate processes on one control plane, each with its own faults."""

import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from controller.runtime.leader.rules import ElectionSettings
from hack.cluster.control_plane import ControlPlane
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.local.state_dir import ROOT
from tests.faults.leader_election.candidate_process import SAW_LEADER
from tests.faults.leader_election.leaderships import Leadership, overlaps, read_leaderships
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually

log = logging.getLogger(__name__)

CANDIDATE_NAMES = ("a", "b", "c")
# This number of further beats shows that a leader continues independently of its predecessor.
MIN_FURTHER_ACTS = 50


class CandidateProcess:
    """One candidate process, and the proxy that is its only way to the API server."""

    def __init__(self, process: Process, proxy: TCPProxy) -> None:
        self.name = process.name
        self.process = process
        self.proxy = proxy

    async def log_text(self) -> str:
        return self.process.log_path.read_text()

    async def has_ended(self) -> bool:
        return self.process.pid is None

    def block_event_loop(self) -> None:
        """Block the event loop of the process for twice its lease."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGUSR1)


class Election:
    """All processes of an election, and the log that they write."""

    def __init__(self, leadership_log: Path) -> None:
        self._log = leadership_log
        self._by_name: dict[str, CandidateProcess] = {}

    def add(self, candidate: CandidateProcess) -> None:
        self._by_name[candidate.name] = candidate

    async def wait_all_follow(self) -> None:
        """Wait until each process has observed the leader."""
        for candidate in self._by_name.values():
            await eventually(candidate.log_text, lambda text: SAW_LEADER in text)

    async def leaderships(self) -> list[Leadership]:
        return read_leaderships(self._log)

    async def wait_leader(self) -> CandidateProcess:
        """Wait for a leader; return its process."""
        leaderships = await eventually(
            self.leaderships, lambda found: found and found[-1].act_count > 1
        )
        return self._by_name[leaderships[-1].identity]

    async def wait_successor(self, old: CandidateProcess, *, timeout_seconds: float) -> None:
        """Wait until another process leads, and log how long there was no leader."""
        leaderships = await eventually(
            self.leaderships,
            lambda found: found[-1].identity != old.name and found[-1].act_count > 1,
            timeout_seconds=timeout_seconds,
        )
        last_act = max(item.last_act for item in leaderships if item.identity == old.name)
        log.info("handed over after %.2f s", leaderships[-1].first_act - last_act)

    async def wait_further_acts(self) -> None:
        """Wait until leaders have written a fixed number of further beats."""

        async def beats() -> int:
            return sum(leadership.act_count for leadership in await self.leaderships())

        before = await beats()
        await eventually(beats, lambda count: count >= before + MIN_FURTHER_ACTS)

    async def wait_no_leader(self, *, seconds: float) -> None:
        """Wait until there has been no leader for this time."""

        async def silence() -> float:
            leaderships = await self.leaderships()
            return time.monotonic() - max(leadership.last_act for leadership in leaderships)

        await eventually(silence, lambda passed: passed > seconds)


@asynccontextmanager
async def run_election(
    plane: ControlPlane, state_dir: Path, count: int, settings: ElectionSettings
) -> AsyncIterator[Election]:
    """Run an election over a Lease named after the folder.

    Require that no two leaderships overlap.
    """
    candidates = Election(state_dir / "leaderships")
    async with AsyncExitStack() as stack:
        for name in CANDIDATE_NAMES[:count]:
            proxy = TCPProxy(HOST, plane.layout.ports["kube-apiserver"])
            await stack.enter_async_context(proxy.serve())
            kubeconfig = kubeconfig_through_proxy(plane, proxy, state_dir / f"kubeconfig-{name}")
            flags = (
                f"--log={state_dir / 'leaderships'}",
                f"--kubeconfig={kubeconfig}",
                *election_flags(settings),
            )
            process = Process(
                candidate_command(name, f"--name={state_dir.name}", *flags), state_dir
            )
            process.start()
            stack.push_async_callback(process.stop)
            candidates.add(CandidateProcess(process, proxy))
        await candidates.wait_all_follow()
        yield candidates
    assert overlaps(await candidates.leaderships()) == []


def kubeconfig_through_proxy(plane: ControlPlane, proxy: TCPProxy, path: Path) -> Path:
    """Write the administrator's kubeconfig with the proxy's address in place of the server's."""
    direct = plane.layout.admin_kubeconfig.read_text()
    path.write_text(direct.replace(plane.layout.server_url, f"https://{HOST}:{proxy.port}"))
    return path


def election_flags(settings: ElectionSettings) -> tuple[str, ...]:
    return (
        f"--lease={settings.lease_duration_seconds}",
        f"--renew={settings.renew_deadline_seconds}",
        f"--retry={settings.retry_period_seconds}",
    )


def candidate_command(name: str, *flags: str) -> Command:
    return Command(
        name=name,
        arguments=(
            sys.executable,
            "-m",
            "tests.faults.leader_election.candidate_process",
            f"--identity={name}",
            *flags,
        ),
        environment={"PYTHONPATH": str(ROOT)},
    )
