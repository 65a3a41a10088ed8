"""Tests of the unit routes, through router and middlewares."""

import pytest

from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.units.commands import ChangeUnit, CreateUnit, ListUnits
from shared.v1alpha1.operation import OperationType
from tests.unit.apiserver.fake_services import FakeUnitService
from tests.unit.apiserver.in_process_api import run_app
from tests.unit.apiserver.objects import new_job, new_unit

PLACE = "/api/v1/gpu-units"
BODY = {"operationID": "o 1/x", "name": "trainer", "specName": "g1.1", "image": "example/app:1"}


async def test_a_created_unit_is_answered_with_its_location() -> None:
    units = FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    async with run_app(units=units) as api:
        answer = await api.post(PLACE, BODY)
    assert (answer.status, answer.headers["Location"]) == (201, f"{PLACE}/trainer")
    assert answer.json["data"]["name"] == "trainer"
    assert units.calls == [CreateUnit("o 1/x", "trainer", "g1.1", "example/app:1")]


async def test_a_replay_is_answered_with_the_unit() -> None:
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.REPLAY))
    ) as api:
        assert (await api.post(PLACE, BODY)).status == 200


async def test_a_replay_reports_a_deleted_unit() -> None:
    gone = DeletedObject("trainer", "runtime-instance", "uid-1", "o 1/x")
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(gone, ResultKind.REPLAY))
    ) as api:
        answer = await api.post(PLACE, BODY)
    assert answer.status == 200
    assert answer.json["data"] == {
        "name": "trainer",
        "namespace": "runtime-instance",
        "uid": "uid-1",
        "operationID": "o 1/x",
        "deleted": True,
    }


async def test_an_unfinished_create_is_answered_with_the_location_of_its_job() -> None:
    job = new_job("o 1/x", OperationType.CREATE_GPU_UNIT)
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(job, ResultKind.UNFINISHED))
    ) as api:
        answer = await api.post(PLACE, BODY)
    assert (answer.status, answer.json["data"]["status"]) == (202, "pending")
    assert answer.headers["Location"] == "/api/v1/operator/jobs/o%201%2Fx"


async def test_a_bad_body_reaches_no_service() -> None:
    units = FakeUnitService()
    async with run_app(units=units) as api:
        answer = await api.post(PLACE, {**BODY, "gpu": 1, "name": "A"})
    assert (answer.status, answer.error_code) == (400, "invalid_request")
    assert [each["field"] for each in answer.json["error"]["details"]] == ["name", "gpu"]
    assert units.calls == []


async def test_units_are_listed() -> None:
    units = FakeUnitService({"a": new_unit("a"), "b": new_unit("b")})
    async with run_app(units=units) as api:
        answer = await api.get(f"{PLACE}?specName=g1.1&phase=Ready&label=team%3Dx&limit=2")
    assert [each["name"] for each in answer.json["data"]] == ["a", "b"]
    assert answer.json["meta"] == {}
    assert units.calls == [ListUnits("g1.1", "Ready", "team=x", 2)]


async def test_a_unit_is_shown_with_its_etag() -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        answer = await api.get(f"{PLACE}/trainer")
    assert (answer.status, answer.headers["ETag"]) == (200, '"uid-trainer.2"')


async def test_a_unit_is_waited_for() -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        assert (await api.get(f"{PLACE}/trainer?wait=Ready&timeoutSeconds=9")).status == 200
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
async def test_a_change_is_made_only_where_the_unit_matches(header: str, status: int) -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        assert (await api.put(f"{PLACE}/trainer", {}, If_Match=header)).status == status


async def test_a_unit_change_is_passed_to_the_service() -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        answer = await api.put(f"{PLACE}/trainer", {"image": "b:2"}, If_Match='"uid-trainer.2"')
    assert answer.headers["ETag"] == '"uid-trainer.2"'
    match = (Revision("uid-trainer", 2),)
    assert units.calls == [ChangeUnit("trainer", image="b:2", if_match=match)]


async def test_a_unit_is_deleted() -> None:
    async with run_app(units=FakeUnitService({"trainer": new_unit()})) as api:
        answer = await api.delete(f"{PLACE}/trainer")
        assert (answer.status, answer.json) == (204, None)
        assert (await api.delete(f"{PLACE}/trainer")).status == 404


@pytest.mark.parametrize(
    ("header", "status"), [('"uid-trainer.2"', 204), ('"uid-other.2"', 412), ("uid-trainer.2", 400)]
)
async def test_a_unit_is_deleted_only_where_it_matches(header: str, status: int) -> None:
    units = FakeUnitService({"trainer": new_unit()})
    async with run_app(units=units) as api:
        assert (await api.delete(f"{PLACE}/trainer", If_Match=header)).status == status
    assert ("trainer" in units.units) is (status != 204)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_name_that_nothing_can_have_is_not_found(method: str) -> None:
    async with run_app(units=FakeUnitService()) as api:
        for name in ("Trainer", "a" * 64, "a.b", "-a", "a%20b"):
            answer = await api.request(method, f"{PLACE}/{name}", b"{}")
            assert (answer.status, answer.error_code) == (404, "not_found"), name


@pytest.mark.parametrize(("method", "body"), [("POST", BODY), ("PUT", {}), ("DELETE", {})])
async def test_a_write_takes_no_parameters(method: str, body: object) -> None:
    units = FakeUnitService({"trainer": new_unit()})
    place = PLACE if method == "POST" else f"{PLACE}/trainer"
    async with run_app(units=units) as api:
        answer = await api.request(
            method, f"{place}?dryRun=1", str(body).replace("'", '"').encode()
        )
    assert answer.json["error"]["details"][0]["field"] == "query.dryRun"
    assert units.calls == []
