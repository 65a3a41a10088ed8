"""Tests of what all routes share: bodies, deadlines, and work that outlives its request."""

import asyncio
import json

import pytest

from apiserver.errors import ServiceUnavailableError
from apiserver.http.deadline import RequestTimeLimits
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.units.commands import CreateUnit
from shared.v1alpha1.gpuunit import GPUUnit
from tests.unit.apiserver.fake_services import FakeUnitService
from tests.unit.apiserver.in_process_api import new_payload, run_app
from tests.unit.apiserver.objects import new_unit

PLACE = "/api/v1/gpu-units"
BODY = {"operationID": "o-1", "name": "trainer", "specName": "g1.1", "image": "example/app:1"}
AT_ONCE = 0.0


class SlowUnits(FakeUnitService):
    """Unit service that creates a unit only when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = asyncio.Event(), asyncio.Event()

    async def create(self, command: CreateUnit) -> OperationResult[GPUUnit]:
        self.begun.set()
        await self.let.wait()
        self.calls.append(command)
        return OperationResult(new_unit(), ResultKind.NEW)


ROUTES = [
    ("POST", "/api/v1/operator/stock-units"),
    ("GET", "/api/v1/operator/stock-units"),
    ("DELETE", "/api/v1/operator/stock-units/a"),
    ("GET", "/api/v1/operator/stock-pools"),
    ("POST", "/api/v1/operator/stock-pools"),
    ("GET", "/api/v1/operator/stock-pools/a"),
    ("PUT", "/api/v1/operator/stock-pools/a"),
    ("DELETE", "/api/v1/operator/stock-pools/a"),
    ("GET", "/api/v1/operator/specs"),
    ("GET", "/api/v1/operator/jobs"),
    ("GET", "/api/v1/operator/jobs/a"),
    ("POST", "/api/v1/gpu-units"),
    ("GET", "/api/v1/gpu-units"),
    ("GET", "/api/v1/gpu-units/a"),
    ("PUT", "/api/v1/gpu-units/a"),
    ("DELETE", "/api/v1/gpu-units/a"),
]


async def test_without_kubernetes_every_route_is_unavailable() -> None:
    async with run_app() as api:
        for method, path in ROUTES:
            answer = await api.request(method, path, b"not even JSON", Content_Type="text/plain")
            assert (answer.status, answer.error_code) == (503, "service_unavailable"), (
                method,
                path,
            )
            assert answer.headers["Retry-After"]
        assert (await api.get("/api/v1/health")).status == 200


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/json+x"]
)
async def test_a_body_of_another_type_is_refused(media_type: str) -> None:
    async with run_app(units=FakeUnitService()) as api:
        answer = await api.post(PLACE, BODY, Content_Type=media_type)
    assert (answer.status, answer.error_code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json; charset=utf-8", 201),
        ("Application/JSON; charset=UTF-8", 201),
        ("application/json; charset=utf-16", 415),
    ],
)
async def test_only_utf_8_is_json(media_type: str, status: int) -> None:
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    ) as api:
        assert (await api.post(PLACE, BODY, Content_Type=media_type)).status == status


async def test_a_route_without_a_body_ignores_its_type() -> None:
    async with run_app(units=FakeUnitService({"a": new_unit("a")})) as api:
        assert (await api.request("GET", f"{PLACE}/a", b"?", Content_Type="x/y")).status == 200


@pytest.mark.parametrize(("size", "status"), [(128 * 1024, 201), (128 * 1024 + 1, 413)])
async def test_a_body_has_a_largest_size(size: int, status: int) -> None:
    body = json.dumps(BODY).encode()
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    ) as api:
        answer = await api.request("POST", PLACE, body + b" " * (size - len(body)))
    assert answer.status == status


async def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    async with run_app(units=FakeUnitService()) as api:
        answer = await api.request_with_payload(
            "POST", PLACE, new_payload(), Content_Length="131073"
        )
    assert (answer.status, answer.error_code) == (413, "too_large")


async def test_the_answer_to_a_body_of_many_problems_has_an_end() -> None:
    async with run_app(units=FakeUnitService()) as api:
        answer = await api.post(PLACE, {**BODY, "template": {"args": [1] * 4096}})
    assert answer.json["error"]["message"].endswith("(the first 1000 of 4096)")
    assert len(answer.json["error"]["details"]) == 1000


async def test_no_body_is_malformed() -> None:
    async with run_app(units=FakeUnitService()) as api:
        assert (await api.request("POST", PLACE)).status == 400


async def test_a_body_that_does_not_come_ends_the_connection() -> None:
    async with run_app(RequestTimeLimits(5.0, AT_ONCE), units=FakeUnitService()) as api:
        answer = await api.request_with_payload("POST", PLACE, new_payload())
    assert (answer.status, answer.error_code) == (408, "timeout")


async def test_a_body_that_breaks_off_is_the_callers_fault() -> None:
    payload = new_payload()
    payload.set_exception(ConnectionResetError("Connection lost"))
    async with run_app(units=FakeUnitService()) as api:
        assert (await api.request_with_payload("POST", PLACE, payload)).status == 400


async def test_a_request_is_answered_in_time_and_its_work_goes_on() -> None:
    units = SlowUnits()
    async with run_app(RequestTimeLimits(AT_ONCE), units=units) as api:
        answer = await api.post(PLACE, BODY)
        assert (answer.status, answer.error_code) == (504, "timeout")
        assert units.calls == []
        units.let.set()
    assert len(units.calls) == 1


async def test_a_request_that_is_given_up_does_not_cancel_its_work() -> None:
    units = SlowUnits()
    async with run_app(units=units) as api, asyncio.TaskGroup() as group:
        request = group.create_task(api.post(PLACE, BODY))
        await units.begun.wait()
        request.cancel()
        await asyncio.wait([request])
        units.let.set()
    assert len(units.calls) == 1


async def test_waiting_for_a_unit_may_take_longer_than_other_requests() -> None:
    class PatientUnits(FakeUnitService):
        async def wait_ready(self, name: str, seconds: float) -> GPUUnit:
            for _ in range(10):  # event loop iterations; a deadline of now would expire during them
                await asyncio.sleep(0)
            return await self.get(name)

    async with run_app(RequestTimeLimits(AT_ONCE), units=PatientUnits({"a": new_unit("a")})) as api:
        assert (await api.get(f"{PLACE}/a?wait=Ready&timeoutSeconds=60")).status == 200


async def test_a_service_error_gets_a_json_error_response() -> None:
    class DownUnits(FakeUnitService):
        async def get(self, name: str) -> GPUUnit:
            raise ServiceUnavailableError("Kubernetes is down", retry_after=5)

    async with run_app(units=DownUnits()) as api:
        answer = await api.get(f"{PLACE}/a")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")


async def test_a_known_path_with_another_method_says_which_it_takes() -> None:
    async with run_app(units=FakeUnitService()) as api:
        answer = await api.request("PATCH", f"{PLACE}/a")
    assert (answer.status, answer.headers["Allow"]) == (405, "DELETE,GET,HEAD,PUT")
