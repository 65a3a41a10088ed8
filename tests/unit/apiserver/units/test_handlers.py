"""Tests of the unit routes, through router and middlewares."""

import pytest

from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.units.commands import ChangeUnit, CreateUnit, ListUnits
from shared.v1alpha1.operation import OperationType
from tests.unit.apiserver.fake_services import FakeUnitService
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.objects import new_job, new_unit

UNITS_PATH = "/api/v1/gpu-units"
BODY = {"operationID": "o 1/x", "name": "trainer", "specName": "g1.1", "image": "example/app:1"}


async def test_the_response_to_a_create_has_the_location_of_the_unit() -> None:
    units = FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    async with run_app(units=units) as api:
        response = await api.post(UNITS_PATH, BODY)
    assert (response.status, response.headers["Location"]) == (201, f"{UNITS_PATH}/trainer")
    assert response.json["data"]["name"] == "trainer"
    assert units.calls == [CreateUnit("o 1/x", "trainer", "g1.1", "example/app:1")]


async def test_the_response_to_a_replay_contains_the_unit() -> None:
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.REPLAY))
    ) as api:
        assert (await api.post(UNITS_PATH, BODY)).status == 200


async def test_a_replay_reports_a_deleted_unit() -> None:
    deleted = DeletedObject("trainer", "runtime-instance", "uid-1", "o 1/x")
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(deleted, ResultKind.REPLAY))
    ) as api:
        response = await api.post(UNITS_PATH, BODY)
    assert response.status == 200
    assert response.json["data"] == {
        "name": "trainer",
        "namespace": "runtime-instance",
        "uid": "uid-1",
        "operationID": "o 1/x",
        "deleted": True,
    }


async def test_the_response_to_an_unfinished_create_has_the_location_of_its_job() -> None:
    job = new_job("o 1/x", OperationType.CREATE_GPU_UNIT)
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(job, ResultKind.UNFINISHED))
    ) as api:
        response = await api.post(UNITS_PATH, BODY)
    assert (response.status, response.json["data"]["status"]) == (202, "pending")
    assert response.headers["Location"] == "/api/v1/operator/jobs/o%201%2Fx"


async def test_a_bad_body_reaches_no_service() -> None:
    units = FakeUnitService()
    async with run_app(units=units) as api:
        response = await api.post(UNITS_PATH, {**BODY, "gpu": 1, "name": "A"})
    assert (response.status, response.error_code) == (400, "invalid_request")
    assert [detail["field"] for detail in response.json["error"]["details"]] == ["name", "gpu"]
    assert units.calls == []


async def test_units_are_listed() -> None:
    units = FakeUnitService({"a": new_unit("a"), "b": new_unit("b")})
    async with run_app(units=units) as api:
        response = await api.get(f"{UNITS_PATH}?specName=g1.1&phase=Ready&label=team%3Dx&limit=2")
    assert [unit["name"] for unit in response.json["data"]] == ["a", "b"]
    assert response.json["meta"] == {}
    assert units.calls == [ListUnits("g1.1", "Ready", "team=x", 2)]


async def test_a_unit_is_shown_with_its_etag() -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        response = await api.get(f"{UNITS_PATH}/trainer")
    assert (response.status, response.headers["ETag"]) == (200, '"uid-trainer.2"')


async def test_a_get_can_wait_for_a_unit() -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        assert (await api.get(f"{UNITS_PATH}/trainer?wait=Ready&timeoutSeconds=9")).status == 200
    assert units.calls == [("trainer", 9)]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ('"uid-trainer.2"', 200),
        ('"x.1", "uid-trainer.2"', 200),
        ("*", 200),
        ('"uid-trainer.1"', 412),
        ('W/"uid-trainer.2"', 412),
        ("uid-trainer.2", 400),
    ],
)
async def test_a_unit_is_changed_only_if_it_matches_the_etag(header: str, status: int) -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        assert (await api.put(f"{UNITS_PATH}/trainer", {}, If_Match=header)).status == status


async def test_a_unit_change_is_passed_to_the_service() -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        response = await api.put(
            f"{UNITS_PATH}/trainer", {"image": "b:2"}, If_Match='"uid-trainer.2"'
        )
    assert response.headers["ETag"] == '"uid-trainer.2"'
    match = (Revision("uid-trainer", 2),)
    assert units.calls == [ChangeUnit("trainer", image="b:2", if_match=match)]


async def test_a_unit_is_deleted() -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        response = await api.delete(f"{UNITS_PATH}/trainer")
        assert (response.status, response.json) == (204, None)
        assert (await api.delete(f"{UNITS_PATH}/trainer")).status == 404


@pytest.mark.parametrize(
    ("header", "status"), [('"uid-trainer.2"', 204), ('"uid-other.2"', 412), ("uid-trainer.2", 400)]
)
async def test_a_unit_is_deleted_only_if_it_matches_the_etag(header: str, status: int) -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        assert (await api.delete(f"{UNITS_PATH}/trainer", If_Match=header)).status == status
    assert ("trainer" in units.units) is (status != 204)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_an_invalid_unit_name_is_not_found(method: str) -> None:
    async with run_app(units=FakeUnitService()) as api:
        for name in ("Trainer", "a" * 64, "a.b", "-a", "a%20b"):
            response = await api.request(method, f"{UNITS_PATH}/{name}", b"{}")
            assert (response.status, response.error_code) == (404, "not_found"), name


@pytest.mark.parametrize(("method", "body"), [("POST", BODY), ("PUT", {}), ("DELETE", {})])
async def test_a_write_accepts_no_query_parameters(method: str, body: object) -> None:
    units = FakeUnitService({"trainer": new_unit()})
    path = UNITS_PATH if method == "POST" else f"{UNITS_PATH}/trainer"
    async with run_app(units=units) as api:
        response = await api.request(
            method, f"{path}?dryRun=1", str(body).replace("'", '"').encode()
        )
    assert response.json["error"]["details"][0]["field"] == "query.dryRun"
    assert units.calls == []
