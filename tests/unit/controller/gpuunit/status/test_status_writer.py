"""Tests of the status writer: it writes only changes, and only to the observed unit."""

from random import Random
from typing import Any, cast

import msgspec
import pytest

from controller.gpuunit.observation import Observation
from controller.gpuunit.status.outcome import UnitReconcileOutcome
from controller.gpuunit.status.readiness import UnitReadiness
from controller.gpuunit.status.status_writer import UnitStatusWriter
from controller.gpuunit.workload import Workload
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Body, Client
from controller.runtime.client.kind import Kind
from controller.runtime.errors import ConflictError
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit, unit_settings
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.gpuunit.filled_caches import caches_with, with_generation

STARTING = UnitReadiness.progressing(UnitReason.UNIT_PROGRESSING, "on its way")
FIRST = with_generation(new_unit(), 1)


class StatusWrites:
    """Server that answers a write with the resulting status.

    `version` is the version of the object that has the name on the server.
    """

    def __init__(self, unit: GPUUnit, version: str) -> None:
        self._unit = unit
        self._version = version
        self.written: list[dict[str, Any]] = []

    async def patch(
        self, kind: Kind[Any], key: ObjectKey, body: Body, subresource: str = ""
    ) -> GPUUnit:
        if body["metadata"]["resourceVersion"] != self._version:
            raise ConflictError("it has another version", status=409)
        status = dict(body["status"])
        self.written.append(status)
        new = msgspec.convert(status, type(self._unit.status))
        meta = msgspec.structs.replace(self._unit.metadata, resource_version="9")
        return msgspec.structs.replace(self._unit, metadata=meta, status=new)


async def written(
    observed: GPUUnit, *now: GPUUnit, times: int = 1, version: str | None = None
) -> list[dict[str, Any]]:
    """Return the statuses written for `judged`; the cache holds `now`, and the server `version`."""
    caches, clock = caches_with(*now), VirtualClock()
    server_version = observed.metadata.resource_version if version is None else version
    writes = StatusWrites(observed, server_version)
    client = cast(Client, writes)
    recorder = EventRecorder(client, clock, Random(7), "test", "test")
    writer = Writer(client, caches.informers)
    status_writer = UnitStatusWriter(caches, unit_settings().namespaces, writer, recorder, clock)
    observation = Observation(observed, Workload(), {})
    for _ in range(times):
        await status_writer.write(observed, UnitReconcileOutcome(observation, STARTING))
    return writes.written


async def test_a_status_is_written_once() -> None:
    (status,) = await written(FIRST, FIRST, times=3)
    assert (status["phase"], status["observedGeneration"]) == ("Progressing", 1)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param([], id="gone"),
        pytest.param([with_generation(FIRST, 2)], id="changed"),
        pytest.param(
            [
                msgspec.structs.replace(
                    FIRST, metadata=msgspec.structs.replace(FIRST.metadata, uid="new")
                )
            ],
            id="recreated",
        ),
    ],
)
async def test_the_status_of_a_unit_is_not_written_to_a_recreated_unit(now: list[GPUUnit]) -> None:
    assert await written(FIRST, *now) == []


async def test_a_status_is_not_written_to_another_unit_of_that_name() -> None:
    """Check the precondition on resourceVersion.

    Without the precondition the server would accept the write: status writes ignore the uid.
    """
    assert await written(FIRST, FIRST, version="of its successor") == []


async def test_progressing_stock_has_its_own_reason() -> None:
    stock = with_generation(new_unit(namespace=STOCK_NAMESPACE), 1)
    (status,) = await written(stock, stock)
    assert status["conditions"][0]["reason"] == "StockNotReady"
