"""Tests of the operator routes, through router and middlewares."""

import pytest

from apiserver.kube.port import Page
from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.specs.service import SpecSummary
from apiserver.specs.stock_counts import StockCount
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_units.commands import SeedStock
from apiserver.stock_units.service import StockPage
from apiserver.units.commands import ListUnits
from shared.etag import make_etag
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.unit_resources import UnitResources
from tests.unit.apiserver.fake_services import (
    FakeJobService,
    FakePoolService,
    FakeSpecService,
    FakeStockService,
)
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.objects import new_job, new_pool, new_unit

STOCK = "/api/v1/operator/stock-units"
POOLS = "/api/v1/operator/stock-pools"
JOBS = "/api/v1/operator/jobs"
SEED = {"operationID": "s 1", "specName": "g1.1", "replicas": 2}
POOL = {"operationID": "p-1", "name": "g1", "specName": "g1.1", "replicas": 3}


@pytest.mark.parametrize(("kind", "status"), [(ResultKind.NEW, 202), (ResultKind.REPLAY, 200)])
async def test_a_seed_request_returns_its_job(kind: ResultKind, status: int) -> None:
    stock = FakeStockService(OperationResult(new_job("s 1"), kind))
    async with run_app(stock=stock) as api:
        response = await api.post(STOCK, SEED)
    assert (response.status, response.headers["Location"]) == (status, f"{JOBS}/s%201")
    assert response.json["data"]["type"] == "seed_stock_units"
    assert stock.calls == [SeedStock("s 1", "g1.1", 2)]


async def test_stock_is_listed_with_its_counts() -> None:
    page = Page((new_unit("s", "runtime-stock"),), "next", 1)
    stock = FakeStockService(page=StockPage(page, (StockCount("g1.1", "Ready", 2),)))
    async with run_app(stock=stock) as api:
        response = await api.get(f"{STOCK}?phase=Ready")
    assert response.json["data"][0]["lifecycle"] == "stock"
    assert response.json["meta"] == {
        "continue": "next",
        "remaining": 1,
        "summary": [{"specName": "g1.1", "phase": "Ready", "count": 2}],
    }
    assert stock.calls == [ListUnits(phase="Ready")]


async def test_a_stock_unit_is_deleted() -> None:
    stock = FakeStockService()
    async with run_app(stock=stock) as api:
        assert (await api.delete(f"{STOCK}/stock-1")).status == 204
    assert stock.calls == ["stock-1"]


async def test_the_create_of_a_pool_returns_its_location() -> None:
    pools = FakePoolService(accepted=OperationResult(new_pool(), ResultKind.NEW))
    async with run_app(pools=pools) as api:
        response = await api.post(POOLS, POOL)
    assert (response.status, response.headers["Location"]) == (201, f"{POOLS}/g1")
    assert pools.calls == [CreatePool("p-1", "g1", "g1.1", PoolSettings(replicas=3))]


async def test_a_replay_reports_a_deleted_pool() -> None:
    deleted = DeletedObject("g1", "runtime-stock", "u", "p-1")
    async with run_app(
        pools=FakePoolService(accepted=OperationResult(deleted, ResultKind.REPLAY))
    ) as api:
        response = await api.post(POOLS, POOL)
    assert (response.status, response.json["data"]["deleted"]) == (200, True)


async def test_a_pool_can_be_listed_read_and_deleted() -> None:
    pools = FakePoolService({"g1": new_pool()})
    async with run_app(pools=pools) as api:
        assert (await api.get(f"{POOLS}?limit=7")).json["data"][0]["name"] == "g1"
        assert (await api.get(f"{POOLS}/g1")).headers["ETag"] == '"uid-g1.2"'
        assert (await api.delete(f"{POOLS}/g1")).status == 204
        assert (await api.get(f"{POOLS}/g1")).status == 404
    assert pools.calls == [(7, "")]


async def test_the_settings_of_a_pool_can_be_changed() -> None:
    pools = FakePoolService({"g1": new_pool()})
    async with run_app(pools=pools) as api:
        response = await api.put(f"{POOLS}/g1", {"replicas": 0}, If_Match='"uid-g1.2"')
    assert response.status == 200
    assert pools.calls == [("g1", PoolSettings(replicas=0), (Revision("uid-g1", 2),))]


async def test_specs_are_listed() -> None:
    specs = FakeSpecService(
        (SpecSummary(resources=UnitResources(spec_name="g1.1", gpu=1), capacity=4),)
    )
    async with run_app(specs=specs) as api:
        response = await api.get("/api/v1/operator/specs")
    assert response.json["data"][0]["capacity"] == 4


async def test_jobs_are_listed() -> None:
    jobs = FakeJobService({"a": new_job("a")})
    async with run_app(jobs=jobs) as api:
        response = await api.get(f"{JOBS}?type=seed_stock_units&status=running")
    assert response.json["meta"] == {"continue": "next", "remaining": 3}
    assert jobs.calls == [
        (OperationType.SEED_STOCK_UNITS, OperationPhase.RUNNING, 100, ""),
    ]


@pytest.mark.parametrize("operation_id", ["order-4711", "fn/uid/3", "a b?#%", "{x}", "é", "100%25"])
async def test_a_job_is_found_at_its_location(operation_id: str) -> None:
    stock = FakeStockService(OperationResult(new_job(operation_id), ResultKind.NEW))
    async with run_app(
        stock=stock, jobs=FakeJobService({operation_id: new_job(operation_id)})
    ) as api:
        location = (await api.post(STOCK, SEED)).headers["Location"]
        response = await api.get(location)
    assert (response.status, response.json["data"]["operationID"]) == (200, operation_id)
    assert response.headers["ETag"] == make_etag(new_job(operation_id).metadata)
