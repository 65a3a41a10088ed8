"""A candidate process that appends each act of its leadership to a log.

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
from controller.runtime.client.kubeconfig import RestConfig, load_kubeconfig
from controller.runtime.client.metrics import RestMetrics
from controller.runtime.client.rest import RestClient, new_session
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.runtime.leader.elector import ElectorCallbacks, LeaderElector
from controller.runtime.leader.lease import LeaseLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings

ACT_SECONDS: Final = 0.02
SAW_LEADER: Final = "sees the leader"

log = logging.getLogger(__name__)


class LeaderWork:
    """The work that only a leader may do.

    It appends to the log and checks the fence before each line.
    """

    def __init__(self, elector: LeaderElector, identity: str, path: Path) -> None:
        self._elector = elector
        self._identity = identity
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def lead(self) -> None:
        self._write("begin")
        try:
            while True:
                await asyncio.sleep(ACT_SECONDS)
                self._write("beat")
        finally:
            if self._elector.is_leader():
                self._write("end")

    def _write(self, act: str) -> None:
        written_at = time.monotonic_ns()  # the process may stop between the fence and the next line
        self._elector.fence()
        os.write(self._file, f"{written_at} {self._identity} {act}\n".encode())


async def run(options: argparse.Namespace) -> None:
    """Acquire the lease and lead, repeatedly, until SIGTERM."""
    clock, registry = SystemClock(), CollectorRegistry()
    settings = ElectionSettings(options.name, options.lease, options.renew, options.retry)

    async def load() -> RestConfig:
        return await load_kubeconfig(options.kubeconfig)

    credentials = Credentials(load, await load(), clock)
    async with new_session("leader-election") as session:
        rest = RestClient(session, credentials, RestMetrics(registry), clock)
        key = ObjectKey(options.namespace, options.name)
        elector = LeaderElector(
            LeaseLock(Client(rest, "candidate"), key, options.identity),
            settings,
            clock,
            random.Random(),
            LeaderMetrics(registry),
            ElectorCallbacks(log.info, lambda holder: log.info("%s %s", SAW_LEADER, holder)),
        )
        work = LeaderWork(elector, options.identity, options.log)
        await until_terminated(lambda: block_event_loop(2 * options.lease), elector, work)


async def until_terminated(
    on_block: Callable[[], None], elector: LeaderElector, work: LeaderWork
) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(lead_repeatedly(elector, work))
        loop.add_signal_handler(signal.SIGTERM, leading.cancel)
        loop.add_signal_handler(signal.SIGUSR1, on_block)


async def lead_repeatedly(elector: LeaderElector, work: LeaderWork) -> None:
    while True:
        end = await elector.run(work.lead)
        log.info("leadership ended: %s", end.value)


def block_event_loop(seconds: float) -> None:
    log.info("blocked")
    time.sleep(seconds)  # noqa: TID251 - the test needs a blocked loop


def parse_arguments() -> argparse.Namespace:
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
    asyncio.run(run(parse_arguments()))
