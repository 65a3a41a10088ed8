"""The controllers that reconcile units: ours, and one on controller-runtime."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import responds_ok, wait_until
from hack.local.product_processes import CONTROLLER
from tests.bench.controller.unit_cluster import UnitBenchCluster
from tests.bench.go_program import build_go_program
from tests.runner.ports import new_port
from tests.support.cluster import product_processes


@dataclass(frozen=True)
class UnitContender:
    """One controller, which runs while the block of `run` lasts."""

    name: str
    run: Callable[[UnitBenchCluster], AbstractAsyncContextManager[Process]]


def our_controller_contender() -> UnitContender:
    """Return our controller as it is shipped, but without leader election, like the other."""

    @asynccontextmanager
    async def running(cluster: UnitBenchCluster) -> AsyncIterator[Process]:
        changes = {"kubeconfig": str(cluster.kubeconfig), "leaderElection": {"enabled": False}}
        async with product_processes.run_product_process(
            CONTROLLER, cluster.state_dir, changes
        ) as product:
            yield product.process

    return UnitContender("ours", running)


def controller_runtime_contender(*options: str) -> UnitContender:
    """Return the Go controller with the defaults of its library, built if it is not cached."""
    program = build_go_program("unitcontroller")

    @asynccontextmanager
    async def running(cluster: UnitBenchCluster) -> AsyncIterator[Process]:
        address = f"{HOST}:{new_port()}"
        flags = (f"-kubeconfig={cluster.kubeconfig}", f"-probes={address}")
        command = Command("unitcontroller", (str(program), *flags, *options))
        process = Process(command, cluster.state_dir)
        process.start()
        try:
            await wait_until(lambda: responds_ok(f"http://{address}/readyz"), process)
            yield process
        finally:
            await process.stop()

    return UnitContender("controller-runtime", running)
