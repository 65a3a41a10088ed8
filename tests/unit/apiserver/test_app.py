"""Tests of the behaviour of all routes: bodies, deadlines, and work that outlives its request."""

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

UNITS = "/api/v1/gpu-units"
BODY = {"operationID": "o-1", "name": "trainer", "specName": "g1.1", "image": "example/app:1"}
NO_TIME_SECONDS = 0.0


class SlowUnits(FakeUnitService):
    """Unit service that creates a unit only when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.permitted = asyncio.Event(), asyncio.Event()

    async def create(self, command: CreateUnit) -> OperationResult[GPUUnit]:
        self.started.set()
        await self.permitted.wait()
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
            response = await api.request(method, path, b"not even JSON", Content_Type="text/plain")
            assert (response.status, response.error_code) == (503, "service_unavailable"), (
                method,
                path,
            )
            assert response.headers["Retry-After"]
        assert (await api.get("/api/v1/health")).status == 200


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/json+x"]
)
async def test_a_body_of_another_media_type_is_refused(media_type: str) -> None:
    async with run_app(units=FakeUnitService()) as api:
        response = await api.post(UNITS, BODY, Content_Type=media_type)
    assert (response.status, response.error_code) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json; charset=utf-8", 201),
        ("Application/JSON; charset=UTF-8", 201),
        ("application/json; charset=utf-16", 415),
    ],
)
async def test_only_json_in_utf_8_is_accepted(media_type: str, status: int) -> None:
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    ) as api:
        assert (await api.post(UNITS, BODY, Content_Type=media_type)).status == status


async def test_a_route_without_a_body_ignores_the_media_type() -> None:
    async with run_app(units=FakeUnitService({"a": new_unit("a")})) as api:
        assert (await api.request("GET", f"{UNITS}/a", b"?", Content_Type="x/y")).status == 200


@pytest.mark.parametrize(("size", "status"), [(128 * 1024, 201), (128 * 1024 + 1, 413)])
async def test_a_body_above_the_maximum_size_is_refused(size: int, status: int) -> None:
    body = json.dumps(BODY).encode()
    async with run_app(
        units=FakeUnitService(accepted=OperationResult(new_unit(), ResultKind.NEW))
    ) as api:
        response = await api.request("POST", UNITS, body + b" " * (size - len(body)))
    assert response.status == status


async def test_a_body_with_a_too_large_content_length_is_not_read() -> None:
    async with run_app(units=FakeUnitService()) as api:
        response = await api.request_with_payload(
            "POST", UNITS, new_payload(), Content_Length="131073"
        )
    assert (response.status, response.error_code) == (413, "too_large")


async def test_the_details_of_a_body_with_many_problems_are_limited() -> None:
    async with run_app(units=FakeUnitService()) as api:
        response = await api.post(UNITS, {**BODY, "template": {"args": [1] * 4096}})
    assert response.json["error"]["message"].endswith("(the first 1000 of 4096)")
    assert len(response.json["error"]["details"]) == 1000


async def test_a_request_without_a_body_is_refused() -> None:
    async with run_app(units=FakeUnitService()) as api:
        assert (await api.request("POST", UNITS)).status == 400


async def test_a_body_that_does_not_arrive_in_time_gets_408() -> None:
    async with run_app(RequestTimeLimits(5.0, NO_TIME_SECONDS), units=FakeUnitService()) as api:
        response = await api.request_with_payload("POST", UNITS, new_payload())
    assert (response.status, response.error_code) == (408, "timeout")


async def test_an_incomplete_body_is_an_invalid_request() -> None:
    payload = new_payload()
    payload.set_exception(ConnectionResetError("Connection lost"))
    async with run_app(units=FakeUnitService()) as api:
        assert (await api.request_with_payload("POST", UNITS, payload)).status == 400


async def test_a_request_gets_a_response_in_time_and_its_work_continues() -> None:
    units = SlowUnits()
    async with run_app(RequestTimeLimits(NO_TIME_SECONDS), units=units) as api:
        response = await api.post(UNITS, BODY)
        assert (response.status, response.error_code) == (504, "timeout")
        assert units.calls == []
        units.permitted.set()
    assert len(units.calls) == 1


async def test_a_cancelled_request_does_not_cancel_its_work() -> None:
    units = SlowUnits()
    async with run_app(units=units) as api, asyncio.TaskGroup() as group:
        request = group.create_task(api.post(UNITS, BODY))
        await units.started.wait()
        request.cancel()
        await asyncio.wait([request])
        units.permitted.set()
    assert len(units.calls) == 1


async def test_a_wait_for_a_unit_may_take_longer_than_other_requests() -> None:
    class WaitingUnits(FakeUnitService):
        async def wait_ready(self, name: str, seconds: float) -> GPUUnit:
            for _ in range(10):  # event loop iterations; a deadline of now would expire during them
                await asyncio.sleep(0)
            return await self.get(name)

    async with run_app(
        RequestTimeLimits(NO_TIME_SECONDS), units=WaitingUnits({"a": new_unit("a")})
    ) as api:
        assert (await api.get(f"{UNITS}/a?wait=Ready&timeoutSeconds=60")).status == 200


async def test_a_service_error_gets_a_json_error_response() -> None:
    class DownUnits(FakeUnitService):
        async def get(self, name: str) -> GPUUnit:
            raise ServiceUnavailableError("Kubernetes is down", retry_after=5)

    async with run_app(units=DownUnits()) as api:
        response = await api.get(f"{UNITS}/a")
    assert (response.status, response.headers["Retry-After"]) == (503, "5")


async def test_a_request_with_an_unsupported_method_gets_the_allow_header() -> None:
    async with run_app(units=FakeUnitService()) as api:
        response = await api.request("PATCH", f"{UNITS}/a")
    assert (response.status, response.headers["Allow"]) == (405, "DELETE,GET,HEAD,PUT")
