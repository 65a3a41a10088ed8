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

BORN = "2026-01-01T00:00:00Z"
LATER = timestamp_to_ms(BORN) + LOST_AFTER_MS


def a_function(**spec: Any) -> Function:
    asked = {"specName": "g1", "image": "i:1", "template": {"command": ["serve"]}, **spec}
    return Function(
        metadata=ObjectMeta(name="fn", namespace="n", uid="u"),
        spec=msgspec.convert(asked, FunctionSpec),
    )


def a_unit(function: Function, number: int | None = 3, made_by: str = "", **status: Any) -> GPUUnit:
    """Return the unit that the API creates for a worker request."""
    asked = build_worker_spec(function, number or 0)
    fields = ("specName", "image", "template", "storageMounts", "serverless")
    spec = {name: asked.body[name] for name in fields if name in asked.body}
    by = made_by or (asked.operation_id if number is not None else "somebody/1")
    metadata = {
        "name": asked.name,
        "creationTimestamp": BORN,
        "annotations": {OPERATION_ID_ANNOTATION: by},
    }
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, GPUUnit)


def seen(unit: GPUUnit, function: Function | None = None, now: int = LATER) -> ObservedWorker:
    found = observe_worker(function or a_function(), unit, {}, now)
    assert found is not None
    return found


def saying(reason: str, message: str = "") -> dict[str, Any]:
    condition = {
        "type": "Ready",
        "status": "False",
        "lastTransitionTime": BORN,
        "reason": reason,
        "message": message,
    }
    return {"phase": "Progressing", "conditions": [condition]}


def test_an_order_is_the_same_for_the_same_function_and_number() -> None:
    asked = build_worker_spec(a_function(concurrency=4, framework={"invokePath": "/run"}), 7)
    assert (asked.name, asked.operation_id) == ("fn-7", "fn/u/7")
    assert asked.body == {
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
    ("made_by", "number"),
    [("fn/u/12", 12), ("fn/other/12", None), ("fn/u/", None), ("fn/u/1x", None), ("x", None)],
)
def test_own_workers_are_recognised_by_their_operation_id(made_by: str, number: int | None) -> None:
    assert worker_number_of(a_unit(a_function(), made_by=made_by), "u") == number


def test_a_worker_of_a_predecessor_is_no_worker() -> None:
    unit = a_unit(a_function(), made_by="fn/uid-before/1")
    assert observe_worker(a_function(), unit, {}, 0) is None


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, WorkerState.STARTING),
        ({"phase": "Ready"}, WorkerState.READY),
        ({"phase": "Failed"}, WorkerState.FAILED),
        (saying("UnitProgressing"), WorkerState.STARTING),
        (saying("PodUnschedulable"), WorkerState.LOST),
    ],
)
def test_the_worker_state_follows_the_unit(status: dict[str, Any], state: WorkerState) -> None:
    assert seen(a_unit(a_function(), **status)).state is state


def test_an_unschedulable_worker_counts_as_lost_only_after_a_delay() -> None:
    unit = a_unit(a_function(), **saying("PodUnschedulable"))
    assert seen(unit, now=LATER - 1).state is WorkerState.STARTING


def test_a_worker_whose_node_is_lost_counts_as_lost() -> None:
    pod = msgspec.convert({"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}}, Pod)
    readiness = diagnose_node(pod, {})
    assert readiness is not None
    assert readiness.reason == "NodeLost"
    unit = a_unit(a_function(), **saying(readiness.reason, "any text"))
    assert seen(unit).state is WorkerState.LOST


def test_the_message_of_release_0_1_0_for_a_lost_node_is_recognised() -> None:
    message = "node n1 is gone: waiting for it, or for the pod to be moved"
    unit = a_unit(a_function(), **saying("UnitProgressing", message))
    assert seen(unit).state is WorkerState.LOST


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
    unit = a_unit(a_function())
    assert seen(unit).is_current
    assert not seen(unit, a_function(**change)).is_current
    assert seen(unit, a_function(maxWorkers=7, idleTimeoutSeconds=1)).is_current


def test_the_etag_of_a_worker_equals_the_api_etag() -> None:
    unit = a_unit(a_function())
    meta = msgspec.structs.replace(unit.metadata, uid="u-7", generation=2)
    assert seen(msgspec.structs.replace(unit, metadata=meta)).etag == '"u-7.2"'


def test_a_worker_report_shows_how_busy_the_worker_is() -> None:
    unit = a_unit(a_function())
    assert (seen(unit).is_busy, seen(unit).idle_since) == (False, timestamp_to_ms(BORN))
    report = WorkerReport(running=2, last_active=5, version="1")
    told = observe_worker(a_function(), unit, {"fn-3": report}, LATER)
    assert told is not None
    assert (told.is_busy, told.idle_since) == (True, 5)
