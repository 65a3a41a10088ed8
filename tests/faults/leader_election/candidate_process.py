"""A process that wants to lead, and writes down each moment in which it does.

Lines are `monotonic_ns identity begin|beat|end`; all processes of a machine share that clock.
SIGTERM stops it cleanly, SIGUSR1 blocks its event loop for twice its lease.
"""

import argparse
import asyncio
import logging
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.client.credentials import Credentials
from controller.runtime.client.kubeconfig import Access, from_kubeconfig
from controller.runtime.client.metrics import RestMetrics
from controller.runtime.client.rest import RestClient, new_session
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import Callbacks, LeaderElector
from controller.runtime.leader.lease import LeaseLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings

BEAT_SECONDS: Final = 0.02
SEES: Final = "sees the leader"

log = logging.getLogger(__name__)


class Work:
    """What only a leader may do: append to the log, asking the fence before each line."""

    def __init__(self, elector: LeaderElector, identity: str, path: Path) -> None:
        self._elector = elector
        self._identity = identity
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def lead(self) -> None:
        self._write("begin")
        try:
            while True:
                await asyncio.sleep(BEAT_SECONDS)
                self._write("beat")
        finally:
            if self._elector.is_leader():
                self._write("end")

    def _write(self, what: str) -> None:
        moment = time.monotonic_ns()  # the process may stop between the fence and the next line
        self._elector.fence()
        os.write(self._file, f"{moment} {self._identity} {what}\n".encode())


async def run(given: argparse.Namespace) -> None:
    """Lead, again and again, until SIGTERM."""
    clock, registry = SystemClock(), CollectorRegistry()
    settings = ElectionSettings(given.name, given.lease, given.renew, given.retry)

    async def load() -> Access:
        return await from_kubeconfig(given.kubeconfig)

    credentials = Credentials(load, await load(), clock)
    async with new_session("leader-election") as session:
        rest = RestClient(session, credentials, RestMetrics(registry), clock)
        key = ObjectKey(given.namespace, given.name)
        elector = LeaderElector(
            LeaseLock(Client(rest, "candidate"), key, given.identity),
            settings,
            clock,
            random.Random(),
            LeaderMetrics(registry),
            Callbacks(log.info, lambda holder: log.info("%s %s", SEES, holder)),
        )
        work = Work(elector, given.identity, given.log)
        await until_terminated(lambda: block(2 * given.lease), elector, work)


async def until_terminated(blocked: Callable[[], None], elector: LeaderElector, work: Work) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(lead_for_ever(elector, work))
        loop.add_signal_handler(signal.SIGTERM, leading.cancel)
        loop.add_signal_handler(signal.SIGUSR1, blocked)


async def lead_for_ever(elector: LeaderElector, work: Work) -> None:
    while True:
        ending = await elector.run(work.lead)
        log.info("it is over: %s", ending.value)


def block(seconds: float) -> None:
    log.info("blocked")
    time.sleep(seconds)  # noqa: TID251 - blocking the loop is the point


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--name", required=True, help="of the Lease")
    parser.add_argument("--identity", required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--lease", type=int, required=True)
    parser.add_argument("--renew", type=float, required=True)
    parser.add_argument("--retry", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(created)f %(name)s %(message)s")
    asyncio.run(run(arguments()))
