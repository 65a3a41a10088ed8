"""Tests of deletions that apply to one unit only, on the model of the API server."""

import asyncio

import pytest

from apiserver.errors import NotFoundError, PreconditionFailedError
from apiserver.kube.resources import GPU_UNITS, Revision
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE

UNIT = {"metadata": {"name": "trainer"}, "spec": {"specName": "g1.1", "image": "a:1"}}
FIRST = (Revision("uid-1", 1),)


async def test_a_delete_with_a_stale_etag_is_refused() -> None:
    api = ModelApi()
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    api.server.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", {"spec": {"image": "a:2"}}, "")
    with pytest.raises(PreconditionFailedError):
        await api.run(api.replicas[0].units.delete("trainer", FIRST))
    await api.run(api.replicas[0].units.delete("trainer", (Revision("uid-1", 2),)))
    with pytest.raises(NotFoundError):
        await api.run(api.replicas[0].units.delete("trainer", FIRST))


@pytest.mark.parametrize("seed", range(20))
async def test_a_successor_of_the_name_is_spared_and_a_new_status_does_not_matter(
    seed: int,
) -> None:
    api = ModelApi(seed=seed)
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    client, units = api.replicas[0].storages._cluster, api.replicas[0].units

    async def replace() -> None:
        status = {"status": {"phase": "Ready"}}
        await client.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", status, "status")
        await client.delete(GPU_UNITS, INSTANCE_NAMESPACE, "trainer")
        await client.create(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)

    async def both() -> list[object]:
        work = (replace(), units.delete("trainer", FIRST))
        return list(await asyncio.gather(*work, return_exceptions=True))

    await api.run(both())
    assert {each["metadata"]["uid"] for each in api.server.deleted} == {"uid-1"}
