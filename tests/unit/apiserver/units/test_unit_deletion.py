"""Tests of deletions that apply to one unit only, on the model of the API server."""

import asyncio

import pytest

from apiserver.errors import NotFoundError, PreconditionFailedError
from apiserver.kube.resources import GPU_UNITS, Revision
from tests.model.model_api import ModelApi
from tests.model.namespaces import INSTANCE_NAMESPACE

UNIT = {"metadata": {"name": "trainer"}, "spec": {"specName": "g1.1", "image": "a:1"}}
FIRST_REVISION = (Revision("uid-1", 1),)


async def test_a_delete_with_a_stale_etag_is_refused() -> None:
    api = ModelApi()
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    api.server.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", {"spec": {"image": "a:2"}}, "")
    with pytest.raises(PreconditionFailedError):
        await api.run(api.replicas[0].units.delete("trainer", FIRST_REVISION))
    await api.run(api.replicas[0].units.delete("trainer", (Revision("uid-1", 2),)))
    with pytest.raises(NotFoundError):
        await api.run(api.replicas[0].units.delete("trainer", FIRST_REVISION))


@pytest.mark.parametrize("seed", range(20))
async def test_a_delete_ignores_status_changes_and_keeps_a_recreated_unit(
    seed: int,
) -> None:
    api = ModelApi(seed=seed)
    api.add_object(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)
    client, units = api.replicas[0].storages._cluster, api.replicas[0].units

    async def recreate_unit() -> None:
        status = {"status": {"phase": "Ready"}}
        await client.patch(GPU_UNITS, INSTANCE_NAMESPACE, "trainer", status, "status")
        await client.delete(GPU_UNITS, INSTANCE_NAMESPACE, "trainer")
        await client.create(GPU_UNITS, INSTANCE_NAMESPACE, UNIT)

    async def recreate_and_delete() -> list[object]:
        work = (recreate_unit(), units.delete("trainer", FIRST_REVISION))
        return list(await asyncio.gather(*work, return_exceptions=True))

    await api.run(recreate_and_delete())
    assert {unit["metadata"]["uid"] for unit in api.server.deleted} == {"uid-1"}
