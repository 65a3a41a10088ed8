"""Tests of triggers: a change enqueues the units that it concerns."""

from typing import Any

import msgspec
import pytest

from controller.gpuunit.triggers import UnitTriggers
from controller.runtime.client.decoding import ObjectList
from controller.runtime.key import ObjectKey
from controller.volume_users import used_pvc_names
from shared.k8s.deployment import REVISION_ANNOTATION, ReplicaSet
from shared.k8s.meta import ObjectMeta
from shared.k8s.network import Service
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.stockpool import StockPool
from tests.support.builders.gpu_units import (
    INSTANCE_NAMESPACE,
    STOCK_NAMESPACE,
    new_unit,
    unit_settings,
)
from tests.support.builders.workloads import new_node, pending_pod
from tests.unit.controller.gpuunit.filled_caches import caches_with

LONG = "a" * 63
OWNER = {"apiVersion": "runtime.lokiwager.io/v1alpha1", "kind": "GPUUnit", "name": "one"}


def a_service(name: str, **metadata: Any) -> Service:
    meta = {"name": name, "namespace": INSTANCE_NAMESPACE, **metadata}
    return msgspec.convert({"metadata": meta}, Service)


def enqueued(old: Service | None, new: Service | None) -> list[ObjectKey]:
    triggers = UnitTriggers(
        caches_with(new_unit("one"), new_unit(LONG)), unit_settings().namespaces
    )
    return list(triggers.on_name_release()(old, new))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("unit-one", "one"),
        ("egress-one", "one"),
        (names.unit_child_name(LONG), LONG),
    ],
)
def test_a_deleted_foreign_object_enqueues_the_unit_that_needs_its_name(
    name: str, unit: str
) -> None:
    assert enqueued(a_service(name), None) == [ObjectKey(INSTANCE_NAMESPACE, unit)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(a_service("other"), None, id="another name"),
        pytest.param(None, a_service("unit-one"), id="created"),
        pytest.param(a_service("unit-one"), a_service("unit-one"), id="changed"),
        pytest.param(
            a_service("unit-one", ownerReferences=[{**OWNER, "controller": True}]),
            None,
            id="owned by a unit",
        ),
    ],
)
def test_unrelated_objects_enqueue_no_unit(old: Service | None, new: Service | None) -> None:
    assert enqueued(old, new) == []


def a_pool(*claimed: str) -> StockPool:
    spec = {"specName": "g1.1", "memory": "16Gi", "replicas": 1}
    meta = {"name": "warm", "namespace": STOCK_NAMESPACE}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"claimed": claimed}}, StockPool
    )


def test_a_pool_that_records_a_claim_or_is_deleted_enqueues_the_waiting_unit() -> None:
    stock = new_unit("s", namespace=STOCK_NAMESPACE, labels={"runtime.lokiwager.io/pool": "warm"})
    source = {"runtime.lokiwager.io/source-stock-uid": stock.metadata.uid}
    triggers = UnitTriggers(
        caches_with(stock, new_unit("one", annotations=source)), unit_settings().namespaces
    )
    trigger = triggers.on_claim_counted()
    assert list(trigger(None, a_pool())) == []
    assert list(trigger(a_pool(), a_pool(stock.metadata.uid))) == [
        ObjectKey(INSTANCE_NAMESPACE, "one")
    ]
    assert list(trigger(a_pool(stock.metadata.uid), a_pool(stock.metadata.uid))) == []
    assert list(trigger(a_pool(), None)) == [ObjectKey(INSTANCE_NAMESPACE, "one")]


def a_revision(replicas: int = 1, **annotations: str) -> ReplicaSet:
    annotation_names = {
        "applied": "runtime.lokiwager.io/applied-hash",
        "number": REVISION_ANNOTATION,
    }
    meta = {
        "name": "unit-s-1",
        "namespace": STOCK_NAMESPACE,
        "labels": {"runtime.lokiwager.io/unit": "s"},
        "annotations": {annotation_names[name]: value for name, value in annotations.items()},
    }
    return msgspec.convert({"metadata": meta, "spec": {"replicas": replicas}}, ReplicaSet)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(None, a_revision(), id="created"),
        pytest.param(a_revision(), None, id="deleted"),
        pytest.param(a_revision(applied="a"), a_revision(applied="b"), id="another hash"),
        pytest.param(a_revision(number="1"), a_revision(number="2"), id="another revision"),
    ],
)
def test_a_replicaset_enqueues_its_unit_and_the_unit_created_from_it(
    old: ReplicaSet | None, new: ReplicaSet | None
) -> None:
    stock = new_unit("s", namespace=STOCK_NAMESPACE)
    source = {"runtime.lokiwager.io/source-stock-uid": stock.metadata.uid}
    triggers = UnitTriggers(
        caches_with(stock, new_unit("one", annotations=source)), unit_settings().namespaces
    )
    keys = list(triggers.on_revision_change()(old, new))
    assert keys == [ObjectKey(STOCK_NAMESPACE, "s"), ObjectKey(INSTANCE_NAMESPACE, "one")]


def test_a_changed_pod_count_of_a_replicaset_enqueues_no_unit() -> None:
    triggers = UnitTriggers(
        caches_with(new_unit("s", namespace=STOCK_NAMESPACE)), unit_settings().namespaces
    )
    assert list(triggers.on_revision_change()(a_revision(replicas=1), a_revision(replicas=0))) == []


READY, LOST = new_node("gpu-0"), new_node("gpu-0", ready=False)
CORDONED = new_node("gpu-0", unschedulable=True)
CORDONED_AND_LOST = new_node("gpu-0", ready=False, unschedulable=True)


def enqueued_by_node(old: Node | None, new: Node | None) -> list[ObjectKey]:
    caches = caches_with(new_unit("one"))
    label = {"runtime.lokiwager.io/unit": "one"}
    meta = ObjectMeta(name="pod", namespace=INSTANCE_NAMESPACE, labels=label)
    pod = msgspec.structs.replace(pending_pod(nominatedNodeName="gpu-0"), metadata=meta)
    caches.pods.informers[1].replace(ObjectList([pod], "1"))
    return list(UnitTriggers(caches, unit_settings().namespaces).on_node_change()(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, READY),
        (READY, None),
        (READY, LOST),
        (READY, CORDONED),
        (CORDONED, CORDONED_AND_LOST),
        (CORDONED_AND_LOST, CORDONED),
    ],
)
def test_a_changed_node_enqueues_the_units_running_or_nominated_there(
    old: Node | None, new: Node | None
) -> None:
    assert enqueued_by_node(old, new) == [ObjectKey(INSTANCE_NAMESPACE, "one")]


@pytest.mark.parametrize("node", [READY, LOST, CORDONED, CORDONED_AND_LOST])
def test_a_node_heartbeat_enqueues_no_unit(node: Node) -> None:
    assert enqueued_by_node(node, node) == []


def a_user(*pvc_names: str, **status: str) -> Pod:
    volumes = [{"persistentVolumeClaim": {"claimName": name}} for name in pvc_names]
    meta = {"name": "p", "namespace": INSTANCE_NAMESPACE}
    return msgspec.convert({"metadata": meta, "spec": {"volumes": volumes}, "status": status}, Pod)


@pytest.mark.parametrize(
    ("old", "new", "is_enqueued"),
    [
        pytest.param(a_user("data"), None, True, id="deleted"),
        pytest.param(a_user("data"), a_user("data", phase="Failed"), True, id="ended"),
        pytest.param(a_user("data"), a_user("data", phase="Running"), False, id="still used"),
        pytest.param(None, a_user("data"), False, id="new"),
        pytest.param(a_user("other"), None, False, id="another volume"),
    ],
)
def test_a_deleted_pod_enqueues_the_unit_that_waits_for_its_volume(
    old: Pod | None, new: Pod | None, is_enqueued: bool
) -> None:
    unit = new_unit("one", storageMounts=[{"name": "data", "mountPath": "/data"}])
    triggers = UnitTriggers(caches_with(unit), unit_settings().namespaces)
    keys = list(triggers.on_volume_release(used_pvc_names)(old, new))
    assert keys == ([ObjectKey(INSTANCE_NAMESPACE, "one")] if is_enqueued else [])
