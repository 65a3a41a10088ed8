"""Several candidate processes on one control plane, each with faults of its own."""

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
from tests.faults.leader_election.candidate_process import SEES
from tests.faults.leader_election.leaderships import Reign, overlaps, reigns
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually

log = logging.getLogger(__name__)

NAMES = ("a", "b", "c")
# Beats that show that a leader goes on beside whatever its predecessor does now.
A_WHILE = 50


class Candidate:
    """One process, and the proxy through which alone it reaches the API server."""

    def __init__(self, process: Process, proxy: TCPProxy) -> None:
        self.name = process.name
        self.process = process
        self.proxy = proxy

    async def told(self) -> str:
        return self.process.log.read_text()

    async def is_gone(self) -> bool:
        return self.process.pid is None

    def block(self) -> None:
        """Block its event loop for twice its lease."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGUSR1)


class Candidates:
    """All processes of an election, and what they wrote down of it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._by_name: dict[str, Candidate] = {}

    def add(self, candidate: Candidate) -> None:
        self._by_name[candidate.name] = candidate

    async def all_follow(self) -> None:
        """Wait until each has seen who leads."""
        for candidate in self._by_name.values():
            await eventually(candidate.told, lambda text: SEES in text)

    async def reigns(self) -> list[Reign]:
        return reigns(self._log)

    async def leader(self) -> Candidate:
        """Whoever leads now."""
        found = await eventually(self.reigns, lambda found: found and found[-1].beats > 1)
        return self._by_name[found[-1].identity]

    async def successor(self, old: Candidate, *, seconds: float) -> None:
        """Wait until another leads, and log for how long nobody did."""
        found = await eventually(
            self.reigns,
            lambda found: found[-1].identity != old.name and found[-1].beats > 1,
            seconds=seconds,
        )
        last = max(one.last for one in found if one.identity == old.name)
        log.info("handed over after %.2f s", found[-1].begin - last)

    async def go_on(self) -> None:
        """Wait until there has been a leader for a good while from now."""

        async def beats() -> int:
            return sum(one.beats for one in await self.reigns())

        had = await beats()
        await eventually(beats, lambda count: count >= had + A_WHILE)

    async def nobody_leads(self, *, seconds: float) -> None:
        """Wait until nobody has led for so long."""

        async def silence() -> float:
            return time.monotonic() - max(one.last for one in await self.reigns())

        await eventually(silence, lambda passed: passed > seconds)


@asynccontextmanager
async def electing(
    plane: ControlPlane, home: Path, count: int, settings: ElectionSettings
) -> AsyncIterator[Candidates]:
    """An election over a Lease of the folder's name; no two may have led at one moment."""
    candidates = Candidates(home / "reigns")
    async with AsyncExitStack() as stack:
        for name in NAMES[:count]:
            proxy = TCPProxy(HOST, plane.layout.ports["kube-apiserver"])
            await stack.enter_async_context(proxy.serving())
            kubeconfig = through(plane, proxy, home / f"kubeconfig-{name}")
            flags = f"--log={home / 'reigns'}", f"--kubeconfig={kubeconfig}", *timed(settings)
            process = Process(command(name, f"--name={home.name}", *flags), home)
            process.start()
            stack.push_async_callback(process.stop)
            candidates.add(Candidate(process, proxy))
        await candidates.all_follow()
        yield candidates
    assert overlaps(await candidates.reigns()) == []


def through(plane: ControlPlane, proxy: TCPProxy, path: Path) -> Path:
    """The administrator's kubeconfig with the proxy in the place of the server."""
    direct = plane.layout.admin_kubeconfig.read_text()
    path.write_text(direct.replace(plane.layout.server_url, f"https://{HOST}:{proxy.port}"))
    return path


def timed(settings: ElectionSettings) -> tuple[str, ...]:
    return (
        f"--lease={settings.lease_seconds}",
        f"--renew={settings.renew_seconds}",
        f"--retry={settings.retry_seconds}",
    )


def command(name: str, *flags: str) -> Command:
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
