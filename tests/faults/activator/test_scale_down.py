"""Workers go while they run something: it ends in their grace period, or runs once more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from hack.cluster.control_plane import ControlPlane
from hack.podrunner.runner import running_pods
from shared.invocation.state import State
from tests.support.cluster.in_process_activator import activated, configuration
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import new_site
from tests.support.cluster.our_api import serving
from tests.support.cluster.running_product import Installation
from tests.support.http.api_client import Caller
from tests.support.queue.blocking_function import HeldFunction, held_function
from tests.support.queue.functions_client import functions_of
from tests.support.queue.invocation_api import nats_settings, queue_connected
from tests.support.queue.nats_server import new_queue

MakeFunction = Callable[..., Awaitable[HeldFunction]]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def make_function(
    installed: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MakeFunction]:
    """Makes functions with two places for workers on a site with everything, real pods too."""
    home, kubeconfig = tmp_path_factory.mktemp("scale-down"), installed.layout.admin_kubeconfig
    async with (
        new_site(installed) as site,
        new_queue(home / "queue") as queue,
        running_pods(kubeconfig, home / "pods", site.namespaces.instance),
        controlled(site),
        serving(site, home / "api", nats=nats_settings(queue)) as product,
        activated(configuration(site, queue, product.url)),
        functions_of(site, queue) as functions,
    ):
        api = Caller(product.url)
        await queue_connected(api)

        async def make(folder: Path, **spec: int) -> HeldFunction:
            stock = await Installation(site, api, api).stocked(2)
            return await held_function(functions, api, stock, folder, **spec)

        yield make


async def test_a_surplus_worker_finishes_what_it_runs(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    held = await make_function(tmp_path, maxWorkers=2, targetBacklog=2)
    await held.invoke("one", "two", "three")
    busy = {await held.runner_of("one"), await held.runner_of("two")}
    assert len(busy) == 2

    await held.cancel("three")  # one worker may have the two that are left, and none is idle
    await held.drains(await held.removed(busy))
    held.let_go()
    assert await held.over() == {
        "one": (State.SUCCEEDED, 1),
        "two": (State.SUCCEEDED, 1),
        "three": (State.CANCELLED, 0),
    }
    assert await held.calls() == [("one", 1), ("two", 1)]


async def test_a_worker_of_a_changed_function_finishes_what_it_runs_beside_the_next(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    held = await make_function(tmp_path, maxWorkers=1)
    await held.invoke("before")
    old = await held.runner_of("before")

    await held.change(timeoutSeconds=270)
    assert await held.removed({old}) == old
    await held.drains(old)
    await held.invoke("after")
    assert await held.runner_of("after") != old
    held.let_go()
    assert await held.over() == {"before": (State.SUCCEEDED, 1), "after": (State.SUCCEEDED, 1)}
    assert await held.calls() == [("after", 1), ("before", 1)]


async def test_an_evicted_worker_finishes_what_it_runs_and_another_what_it_had_no_time_for(
    make_function: MakeFunction, tmp_path: Path
) -> None:
    held = await make_function(tmp_path, minWorkers=2, maxWorkers=2)
    await held.invoke("finished", "cut-off")
    patient, hasty = await held.runner_of("finished"), await held.runner_of("cut-off")
    assert patient != hasty

    await held.evict(patient)
    await held.evict(hasty, gracePeriodSeconds=1)
    await held.runner_of("cut-off", attempt=2)
    held.let_go()
    assert await held.over() == {"finished": (State.SUCCEEDED, 1), "cut-off": (State.SUCCEEDED, 2)}
    assert await held.calls() == [("cut-off", 1), ("cut-off", 2), ("finished", 1)]
