"""Scale-down of busy workers: their run ends within the grace period, or runs once more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from hack.cluster.control_plane import ControlPlane
from hack.podrunner.runner import run_pods
from shared.invocation.state import InvocationState
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.cluster.running_product import RunningProduct, run_api
from tests.support.http.api_client import ApiClient
from tests.support.queue.blocking_function import BlockingFunction, new_blocking_function
from tests.support.queue.functions_client import open_functions
from tests.support.queue.invocation_api import nats_settings, wait_queue_connected
from tests.support.queue.nats_server import new_nats_server

MakeFunction = Callable[..., Awaitable[BlockingFunction]]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def make_function(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MakeFunction]:
    """Return a factory of functions with at most two workers.

    The site has all components and real pods.
    """
    directory, kubeconfig = (
        tmp_path_factory.mktemp("scale-down"),
        installed_control_plane.layout.admin_kubeconfig,
    )
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(directory / "queue") as queue,
        run_pods(kubeconfig, directory / "pods", site.namespaces.instance),
        run_controller(site),
        run_api(site, directory / "api", nats=nats_settings(queue)) as product,
        run_activator(activator_config(site, queue, product.url)),
        open_functions(site, queue) as functions,
    ):
        api = ApiClient(product.url)
        await wait_queue_connected(api)

        async def make(folder: Path, **spec: int) -> BlockingFunction:
            stock = await RunningProduct(site, api, api).create_ready_stock(2)
            return await new_blocking_function(functions, api, stock, folder, **spec)

        yield make


async def test_a_surplus_worker_finishes_its_running_invocation(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    function = await make_function(tmp_path, maxWorkers=2, targetBacklog=2)
    await function.invoke("one", "two", "three")
    busy = {await function.wait_running_worker("one"), await function.wait_running_worker("two")}
    assert len(busy) == 2

    await function.cancel("three")  # one worker suffices for the other two, and no worker is idle
    await function.wait_draining(await function.wait_removed(busy))
    function.release()
    assert await function.wait_outcomes() == {
        "one": (InvocationState.SUCCEEDED, 1),
        "two": (InvocationState.SUCCEEDED, 1),
        "three": (InvocationState.CANCELLED, 0),
    }
    assert await function.recorded_calls() == [("one", 1), ("two", 1)]


async def test_an_outdated_worker_finishes_its_invocation_while_its_replacement_runs(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    function = await make_function(tmp_path, maxWorkers=1)
    await function.invoke("before")
    old = await function.wait_running_worker("before")

    await function.patch_spec(timeoutSeconds=270)
    assert await function.wait_removed({old}) == old
    await function.wait_draining(old)
    await function.invoke("after")
    assert await function.wait_running_worker("after") != old
    function.release()
    assert await function.wait_outcomes() == {
        "before": (InvocationState.SUCCEEDED, 1),
        "after": (InvocationState.SUCCEEDED, 1),
    }
    assert await function.recorded_calls() == [("after", 1), ("before", 1)]


async def test_an_invocation_of_an_evicted_worker_is_finished_or_runs_on_another_worker(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    function = await make_function(tmp_path, minWorkers=2, maxWorkers=2)
    await function.invoke("finished", "cut-off")
    with_grace, without_grace = (
        await function.wait_running_worker("finished"),
        await function.wait_running_worker("cut-off"),
    )
    assert with_grace != without_grace

    await function.evict_worker(with_grace)
    await function.evict_worker(without_grace, gracePeriodSeconds=1)
    await function.wait_running_worker("cut-off", attempt=2)
    function.release()
    assert await function.wait_outcomes() == {
        "finished": (InvocationState.SUCCEEDED, 1),
        "cut-off": (InvocationState.SUCCEEDED, 2),
    }
    assert await function.recorded_calls() == [("cut-off", 1), ("cut-off", 2), ("finished", 1)]
