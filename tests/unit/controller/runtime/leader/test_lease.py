"""Tests of the encoding of the Lease, and of the lock that uses it."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from controller.runtime.client.client import MERGE_PATCH, Client
from controller.runtime.client.rest import KubeRequest, RestClient
from controller.runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    StatusError,
    error_from_response,
)
from controller.runtime.key import ObjectKey
from controller.runtime.leader.lease import (
    Lease,
    LeaseLock,
    LeaseNotReadError,
    LeaseRecord,
    LeaseSpec,
    record_from_spec,
    spec_from_record,
)
from controller.runtime.microtime import format_micro_time

KEY = ObjectKey("system", "controller")
PATH = "/apis/coordination.k8s.io/v1/namespaces/system/leases/controller"
RECORD = LeaseRecord(
    holder="a",
    duration_seconds=15,
    acquire_time="2026-11-16T00:00:00.000000Z",
    renew_time="2026-11-16T00:00:02.500000Z",
    transitions=3,
)
SPEC = {
    "holderIdentity": "a",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-11-16T00:00:00.000000Z",
    "renewTime": "2026-11-16T00:00:02.500000Z",
    "leaseTransitions": 3,
}


class ScriptedRest(RestClient):
    """REST client that returns the next of `responses` for each call, and records the calls."""

    def __init__(self, *responses: dict[str, Any] | StatusError) -> None:
        self.calls: list[KubeRequest] = []
        self._responses = list(responses)

    async def send(self, request: KubeRequest, *, timeout_seconds: float = 0) -> bytes:
        self.calls.append(request)
        response = self._responses.pop(0)
        if isinstance(response, StatusError):
            raise response
        return json.dumps(response).encode()


def lease(version: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": KEY.name, "resourceVersion": version}, "spec": spec}


def error_response(code: int, reason: str) -> StatusError:
    return error_from_response("PATCH lease", code, json.dumps({"reason": reason}).encode())


def lock(rest: RestClient) -> LeaseLock:
    return LeaseLock(Client(rest, "tests"), KEY, "a")


def test_a_lease_record_is_encoded_and_decoded_without_loss() -> None:
    assert spec_from_record(RECORD) == SPEC
    assert record_from_spec(msgspec.convert(SPEC, LeaseSpec)) == RECORD


def test_a_lease_without_a_spec_is_an_empty_record() -> None:
    assert record_from_spec(msgspec.convert({"metadata": {}}, Lease).spec) == LeaseRecord()


def test_a_released_record_names_its_empty_holder() -> None:
    assert spec_from_record(LeaseRecord(duration_seconds=1, transitions=2)) == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "leaseTransitions": 2,
    }


def test_times_are_utc_with_six_digits_even_on_the_full_second() -> None:
    noon_in_berlin = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert format_micro_time(noon_in_berlin) == "2026-07-01T10:00:00.000000Z"
    assert (
        format_micro_time(datetime(2026, 7, 1, 0, 0, 0, 70, UTC)) == "2026-07-01T00:00:00.000070Z"
    )


async def test_a_missing_lease_has_no_record() -> None:
    assert await lock(ScriptedRest(error_response(404, "NotFound"))).get() is None


async def test_other_errors_of_a_lease_read_are_raised() -> None:
    with pytest.raises(StatusError):
        await lock(ScriptedRest(error_response(500, "InternalError"))).get()


async def test_a_late_lease_create_raises_already_exists() -> None:
    with pytest.raises(AlreadyExistsError):
        await lock(ScriptedRest(error_response(409, "AlreadyExists"))).create(RECORD)


async def test_an_update_without_a_known_version_is_refused() -> None:
    rest = ScriptedRest()
    with pytest.raises(LeaseNotReadError):
        await lock(rest).update(RECORD)
    assert rest.calls == []


async def test_each_update_has_the_last_seen_version() -> None:
    rest = ScriptedRest(lease("7"), lease("8", **SPEC), lease("9", **SPEC))
    lease_lock = lock(rest)
    assert await lease_lock.get() == LeaseRecord()
    await lease_lock.update(RECORD)
    await lease_lock.update(RECORD)
    bodies = [json.loads(call.body or b"") for call in rest.calls[1:]]
    assert [body["metadata"] for body in bodies] == [
        {"resourceVersion": "7"},
        {"resourceVersion": "8"},
    ]
    assert [call.path for call in rest.calls] == [PATH] * 3


async def test_a_created_lease_can_be_updated_without_a_read() -> None:
    rest = ScriptedRest(lease("1", **SPEC), lease("2", **SPEC))
    lease_lock = lock(rest)
    await lease_lock.create(RECORD)
    await lease_lock.update(RECORD)
    created, updated = (json.loads(call.body or b"") for call in rest.calls)
    assert created["metadata"] == {"namespace": "system", "name": "controller"}
    assert (created["kind"], created["spec"]) == ("Lease", SPEC)
    assert updated["metadata"] == {"resourceVersion": "1"}


async def test_an_update_keeps_the_fields_of_other_writers_in_the_lease() -> None:
    rest = ScriptedRest(lease("7"), lease("8", **SPEC))
    lease_lock = lock(rest)
    await lease_lock.get()
    await lease_lock.update(RECORD)
    assert rest.calls[1].content_type == MERGE_PATCH
    assert json.loads(rest.calls[1].body or b"") == {
        "metadata": {"resourceVersion": "7"},
        "spec": SPEC,
    }


async def test_an_update_of_a_changed_lease_is_refused_until_it_is_read_again() -> None:
    rest = ScriptedRest(lease("7"), error_response(409, "Conflict"), lease("9"), lease("10"))
    lease_lock = lock(rest)
    await lease_lock.get()
    with pytest.raises(ConflictError):
        await lease_lock.update(RECORD)
    await lease_lock.get()
    await lease_lock.update(RECORD)
    assert json.loads(rest.calls[3].body or b"")["metadata"] == {"resourceVersion": "9"}
