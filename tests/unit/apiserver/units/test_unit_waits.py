"""Tests of waiting for a unit that does not change, on the model of the API server."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from apiserver.errors import NotFoundError
from apiserver.kube.resources import GPU_UNITS
from shared.v1alpha1.gpuunit import GPUUnit
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE

UNIT = {
    "metadata": {"name": "trainer"},
    "spec": {"specName": "g1.1", "image": "a:1"},
    "status": {"phase": "Progressing", "observedGeneration": 1},
}
CHANGE_DELAY_SECONDS = 60.0


class EndingWatches:
    """Watches that end at once, as if the server no longer had the requested version."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    async def watch(
        self, resource: object, namespace: str, name: str, version: str
    ) -> AsyncGenerator[GPUUnit | None, None]:
        self.versions.append(version)
        changes: tuple[GPUUnit, ...] = ()
        for unit in changes:
            yield unit


@pytest.fixture
def api() -> ModelApi:
    """Return an API with a pending unit, which was last changed long before another object."""
    api = ModelApi()
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    api.add_stock("later")
    return api


@pytest.fixture
def watches(api: ModelApi, monkeypatch: pytest.MonkeyPatch) -> EndingWatches:
    watches = EndingWatches()
    monkeypatch.setattr(api._clients[0], "watch", watches.watch)
    return watches


async def wait_for_change(api: ModelApi, change: Callable[[], object]) -> GPUUnit:
    """Return the unit that a waiting caller gets; after a minute call `change`."""

    async def change_later() -> None:
        await api._scheduler.sleep(CHANGE_DELAY_SECONDS)
        change()

    async def wait_and_change() -> GPUUnit:
        waiting = api.replicas[0].units.wait_ready("trainer", 600.0)
        return (await asyncio.gather(waiting, change_later()))[0]

    return await api.run(wait_and_change())


def ready_change(api: ModelApi) -> Callable[[], object]:
    ready = {"status": {"phase": "Ready"}}
    return lambda: api.server.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", ready, "status")


def deletion(api: ModelApi) -> Callable[[], object]:
    return lambda: api.server.delete(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", "", "")


async def test_watches_that_end_at_once_are_restarted_once_a_second(
    api: ModelApi, watches: EndingWatches
) -> None:
    assert (await wait_for_change(api, ready_change(api))).status.phase == "Ready"

    assert 1 <= len(watches.versions) <= CHANGE_DELAY_SECONDS + 1


async def test_a_watch_starts_at_the_version_of_the_list(
    api: ModelApi, watches: EndingWatches
) -> None:
    last = api.server.get(GPU_UNITS, STOCK_NAMESPACE, "later")["metadata"]["resourceVersion"]
    await wait_for_change(api, ready_change(api))

    assert watches.versions[0] == last


async def test_waiting_ends_when_the_unit_is_deleted_without_a_watch_event(
    api: ModelApi, watches: EndingWatches
) -> None:
    with pytest.raises(NotFoundError):
        await wait_for_change(api, deletion(api))
