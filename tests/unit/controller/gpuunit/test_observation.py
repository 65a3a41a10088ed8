"""Tests of the observation: it has all inputs of the decisions about a unit, from one moment."""

from typing import Any

import msgspec

from controller.gpuunit.observation import observe_unit
from controller.kinds import NODES, PODS
from controller.runtime.client.kind import Kind
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import UNIT_LABEL
from tests.support.builders.gpu_units import new_unit, unit_settings
from tests.support.builders.operations import OPERATION_ID, new_claimed_stock
from tests.support.cluster.caches import UnstartedCaches
from tests.unit.controller.gpuunit.filled_caches import caches_with

NAMESPACES = unit_settings().namespaces
STOCK = new_claimed_stock()
UNIT = new_unit(
    annotations={
        wellknown.SOURCE_STOCK_NAME_ANNOTATION: STOCK.metadata.name,
        wellknown.SOURCE_STOCK_UID_ANNOTATION: STOCK.metadata.uid,
        wellknown.OPERATION_ID_ANNOTATION: OPERATION_ID,
    }
)


def put(
    caches: UnstartedCaches, kind: Kind[Any], name: str, namespace: str = "", **body: Any
) -> None:
    """Put an object into the caches, like a write or a watch does."""
    meta = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}", "resourceVersion": "1"}
    metadata = {**meta, **body.pop("metadata", {})}
    item = msgspec.convert({"metadata": metadata, **body}, kind.model)
    for informer in caches.informers:
        if informer.is_responsible_for(kind, namespace):
            informer.observe_write(item)


def put_pod(
    caches: UnstartedCaches, unit: GPUUnit, name: str, *, deleted: bool = False, **spec: Any
) -> None:
    """Put a pod of a unit into the caches."""
    metadata = {
        "labels": {UNIT_LABEL: unit.metadata.name},
        "deletionTimestamp": "2026-01-01T00:00:00Z" if deleted else None,
    }
    put(caches, PODS, name, unit.metadata.namespace, metadata=metadata, spec=spec)


def test_an_observation_has_the_claimed_stock_and_the_nodes_of_all_pods() -> None:
    caches = caches_with(UNIT, STOCK)
    for name in ("gpu-0", "gpu-1", "gpu-2"):
        put(caches, NODES, name)
    put_pod(caches, UNIT, "mine", nodeName="gpu-0")
    put_pod(caches, STOCK, "reserved", nodeName="gpu-1")
    observation = observe_unit(caches, NAMESPACES, UNIT)
    assert observation.reservation is not None
    assert observation.reservation.stock == STOCK
    assert [pod.metadata.name for pod in observation.reserved_pods] == ["reserved"]
    assert sorted(observation.nodes) == ["gpu-0", "gpu-1"]


def test_stock_that_is_claimed_for_another_operation_is_no_reservation() -> None:
    caches = caches_with(UNIT, new_claimed_stock("op-other"))
    observation = observe_unit(caches, NAMESPACES, UNIT)
    assert (observation.reservation, observation.reserved_pods) == (None, ())


def test_pods_of_deleted_stock_are_observed_until_they_end() -> None:
    caches = caches_with(UNIT)
    put_pod(caches, STOCK, "ending", nodeName="gpu-1", deleted=True)
    put_pod(caches, STOCK, "never-placed", deleted=True)
    put_pod(caches, STOCK, "staying", nodeName="gpu-1")
    observation = observe_unit(caches, NAMESPACES, UNIT)
    assert [pod.metadata.name for pod in observation.terminating_stock_pods] == ["ending"]


def test_an_observation_does_not_change_and_a_new_one_has_the_writes() -> None:
    caches = caches_with(UNIT)
    before = observe_unit(caches, NAMESPACES, UNIT)
    put_pod(caches, UNIT, "new")
    after = observe_unit(caches, NAMESPACES, UNIT)
    assert before.workload.previous_pods == ()
    assert [pod.metadata.name for pod in after.workload.previous_pods] == ["new"]


def test_a_manually_created_unit_has_no_source_stock_to_observe() -> None:
    unit = new_unit()
    caches = caches_with(unit, STOCK)
    put_pod(caches, STOCK, "ending", nodeName="gpu-1", deleted=True)
    observation = observe_unit(caches, NAMESPACES, unit)
    assert (observation.reservation, observation.terminating_stock_pods) == (None, ())
