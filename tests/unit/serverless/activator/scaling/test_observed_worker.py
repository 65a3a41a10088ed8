"""Tests of the observed worker: a unit as scaling sees it, and the API request for a unit."""

from typing import Any

import msgspec
import pytest

from controller.gpuunit.status.diagnosis import diagnose_node
from serverless.activator.scaling.observed_worker import (
    LOST_AFTER_MS,
    ObservedWorker,
    WorkerState,
    observe_worker,
)
from serverless.activator.workers.worker_spec import build_worker_spec, worker_number_of
from shared.invocation.worker_report import WorkerReport
from shared.k8s.meta import ObjectMeta
from shared.k8s.pod import Pod
from shared.time import timestamp_to_ms
from shared.v1alpha1.function import Function, FunctionSpec
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION

CREATED_AT = "2026-01-01T00:00:00Z"
LATER = timestamp_to_ms(CREATED_AT) + LOST_AFTER_MS


def new_function(**spec: Any) -> Function:
    spec_fields = {"specName": "g1", "image": "i:1", "template": {"command": ["serve"]}, **spec}
    return Function(
        metadata=ObjectMeta(name="fn", namespace="n", uid="u"),
        spec=msgspec.convert(spec_fields, FunctionSpec),
    )


def new_unit(
    function: Function, number: int | None = 3, operation_id: str = "", **status: Any
) -> GPUUnit:
    """Return the unit that the API creates for a worker request."""
    worker_spec = build_worker_spec(function, number or 0)
    fields = ("specName", "image", "template", "storageMounts", "serverless")
    spec = {name: worker_spec.body[name] for name in fields if name in worker_spec.body}
    creator = operation_id or (worker_spec.operation_id if number is not None else "other/1")
    metadata = {
        "name": worker_spec.name,
        "creationTimestamp": CREATED_AT,
        "annotations": {OPERATION_ID_ANNOTATION: creator},
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, GPUUnit)


def observe(unit: GPUUnit, function: Function | None = None, now: int = LATER) -> ObservedWorker:
    worker = observe_worker(function or new_function(), unit, {}, now)
    assert worker is not None
    return worker


def not_ready_status(reason: str, message: str = "") -> dict[str, Any]:
    condition = {
        "type": "Ready",
        "status": "False",
        "lastTransitionTime": CREATED_AT,
        "reason": reason,
        "message": message,
    }
    return {"phase": "Progressing", "conditions": [condition]}


def test_the_worker_request_is_made_of_the_function_and_the_number() -> None:
    worker_spec = build_worker_spec(
        new_function(concurrency=4, framework={"invokePath": "/run"}), 7
    )
    assert (worker_spec.name, worker_spec.operation_id) == ("fn-7", "fn/u/7")
    assert worker_spec.body == {
        "operationID": "fn/u/7",
        "name": "fn-7",
        "specName": "g1",
        "image": "i:1",
        "template": {"command": ("serve",)},
        "serverless": {
            "requestID": "fn",
            "framework": {"invokePath": "/run"},
            "concurrency": 4,
            "timeoutSeconds": 300,
        },
    }


@pytest.mark.parametrize(
    ("operation_id", "number"),
    [("fn/u/12", 12), ("fn/other/12", None), ("fn/u/", None), ("fn/u/1x", None), ("x", None)],
)
def test_workers_of_a_function_are_recognised_by_their_operation_id(
    operation_id: str, number: int | None
) -> None:
    assert worker_number_of(new_unit(new_function(), operation_id=operation_id), "u") == number


def test_a_worker_of_a_deleted_function_of_the_same_name_is_ignored() -> None:
    unit = new_unit(new_function(), operation_id="fn/uid-before/1")
    assert observe_worker(new_function(), unit, {}, 0) is None


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, WorkerState.STARTING),
        ({"phase": "Ready"}, WorkerState.READY),
        ({"phase": "Failed"}, WorkerState.FAILED),
        (not_ready_status("UnitProgressing"), WorkerState.STARTING),
        (not_ready_status("PodUnschedulable"), WorkerState.LOST),
    ],
)
def test_the_worker_state_follows_the_unit(status: dict[str, Any], state: WorkerState) -> None:
    assert observe(new_unit(new_function(), **status)).state is state


def test_an_unschedulable_worker_counts_as_lost_only_after_a_delay() -> None:
    unit = new_unit(new_function(), **not_ready_status("PodUnschedulable"))
    assert observe(unit, now=LATER - 1).state is WorkerState.STARTING


def test_a_worker_whose_node_is_lost_counts_as_lost() -> None:
    pod = msgspec.convert({"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}}, Pod)
    readiness = diagnose_node(pod, {})
    assert readiness is not None
    assert readiness.reason == "NodeLost"
    unit = new_unit(new_function(), **not_ready_status(readiness.reason, "any text"))
    assert observe(unit).state is WorkerState.LOST


def test_the_message_of_release_0_1_0_for_a_lost_node_is_recognised() -> None:
    message = "node n1 is gone: waiting for it, or for the pod to be moved"
    unit = new_unit(new_function(), **not_ready_status("UnitProgressing", message))
    assert observe(unit).state is WorkerState.LOST


@pytest.mark.parametrize(
    "change",
    [
        {"image": "i:2"},
        {"template": {"command": ["other"]}},
        {"concurrency": 2},
        {"timeoutSeconds": 5},
        {"framework": {"socketPath": "/s"}},
    ],
)
def test_a_unit_of_another_spec_is_outdated(change: dict[str, Any]) -> None:
    unit = new_unit(new_function())
    assert observe(unit).is_current
    assert not observe(unit, new_function(**change)).is_current
    assert observe(unit, new_function(maxWorkers=7, idleTimeoutSeconds=1)).is_current


def test_the_etag_of_a_worker_equals_the_api_etag() -> None:
    unit = new_unit(new_function())
    meta = msgspec.structs.replace(unit.metadata, uid="u-7", generation=2)
    assert observe(msgspec.structs.replace(unit, metadata=meta)).etag == '"u-7.2"'


def test_a_worker_report_shows_how_busy_the_worker_is() -> None:
    unit = new_unit(new_function())
    assert (observe(unit).is_busy, observe(unit).idle_since) == (False, timestamp_to_ms(CREATED_AT))
    report = WorkerReport(running=2, last_active=5, version="1")
    worker = observe_worker(new_function(), unit, {"fn-3": report}, LATER)
    assert worker is not None
    assert (worker.is_busy, worker.idle_since) == (True, 5)
