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
LATER = 60.0


class Watches:
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
    made = ModelApi()
    made.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    made.add_stock("later")
    return made


@pytest.fixture
def watches(api: ModelApi, monkeypatch: pytest.MonkeyPatch) -> Watches:
    ending = Watches()
    monkeypatch.setattr(api._clients[0], "watch", ending.watch)
    return ending


async def waited(api: ModelApi, happens: Callable[[], object]) -> GPUUnit:
    """Return the unit that a waiting caller gets; after a minute call `happens`."""

    async def something() -> None:
        await api._scheduler.sleep(LATER)
        happens()

    async def both() -> GPUUnit:
        waiting = api.replicas[0].units.wait_ready("trainer", 600.0)
        return (await asyncio.gather(waiting, something()))[0]

    return await api.run(both())


def readiness(api: ModelApi) -> Callable[[], object]:
    ready = {"status": {"phase": "Ready"}}
    return lambda: api.server.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", ready, "status")


def deletion(api: ModelApi) -> Callable[[], object]:
    return lambda: api.server.delete(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", "", "")


async def test_a_server_whose_watches_end_at_once_is_asked_once_a_second(
    api: ModelApi, watches: Watches
) -> None:
    assert (await waited(api, readiness(api))).status.phase == "Ready"

    assert 1 <= len(watches.versions) <= LATER + 1


async def test_a_unit_is_followed_from_now_on_and_not_from_its_last_change(
    api: ModelApi, watches: Watches
) -> None:
    last = api.server.get(GPU_UNITS, STOCK_NAMESPACE, "later")["metadata"]["resourceVersion"]
    await waited(api, readiness(api))

    assert watches.versions[0] == last


async def test_waiting_ends_when_the_unit_is_gone_although_no_watch_told(
    api: ModelApi, watches: Watches
) -> None:
    with pytest.raises(NotFoundError):
        await waited(api, deletion(api))
