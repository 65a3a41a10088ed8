"""Tests of the restore: the objects that it restores from a backup, and their form."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hack.backup import (
    UNFINISHED_PREPARE_MESSAGE,
    bound_pvcs,
    owned_pvc,
    restorable_objects,
    restored_status,
)
from hack.restore import Restorer
from shared.v1alpha1 import wellknown


def new_object(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    server_fields = {
        "uid": "old",
        "resourceVersion": "7",
        "generation": 3,
        "finalizers": ["some/one"],
    }
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "runtime-instance", **server_fields, **metadata},
        "spec": {"of": name},
        "status": {"phase": "Ready"},
    }


def test_server_generated_fields_are_not_restored() -> None:
    (unit,) = restorable_objects([new_object("GPUUnit", "mine", labels={"a": "b"})])
    assert unit["metadata"] == {
        "name": "mine",
        "namespace": "runtime-instance",
        "labels": {"a": "b"},
        "annotations": {},
    }
    assert set(unit) == {"apiVersion", "kind", "metadata", "spec"}


def test_owned_objects_are_not_restored() -> None:
    pool_unit = new_object("GPUUnit", "warm-0", ownerReferences=[{"kind": "StockPool"}])
    assert restorable_objects([pool_unit, new_object("Operation", "o")]) == []


def test_referenced_kinds_are_restored_first() -> None:
    kinds = ["GPUUnit", "Function", "GPUStorage", "StockPool"]
    restored = restorable_objects([new_object(kind, "one") for kind in kinds])
    assert [item["kind"] for item in restored] == ["StockPool", "GPUStorage", "Function", "GPUUnit"]


def test_lock_and_recover_annotations_are_dropped_and_the_admitted_annotation_is_kept() -> None:
    annotations = {
        wellknown.MOUNTED_BY_ANNOTATION: "{}",
        wellknown.RECOVER_ANNOTATION: "r1",
        wellknown.ADMITTED_ANNOTATION: "node",
    }
    (storage,) = restorable_objects([new_object("GPUStorage", "data", annotations=annotations)])
    assert storage["metadata"]["annotations"] == {wellknown.ADMITTED_ANNOTATION: "node"}


def test_a_restored_pvc_is_owned_by_the_present_storage() -> None:
    pvc = new_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    pvc["spec"] = {"volumeName": "v", "accessModes": ["ReadWriteOnce"], "dataSource": None}
    storage = new_object("GPUStorage", "data", uid="new")
    restored = owned_pvc(bound_pvcs([pvc])["data"], storage)

    assert restored["spec"] == {"volumeName": "v", "accessModes": ["ReadWriteOnce"]}
    (owner,) = restored["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("GPUStorage", "new", True)


def test_a_restored_pvc_has_no_binding_annotations() -> None:
    binding = {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    pvc = new_object("PersistentVolumeClaim", "data", annotations={**binding, "mine": "too"})
    restored = owned_pvc(pvc, new_object("GPUStorage", "data"))
    assert restored["metadata"]["annotations"] == {"mine": "too"}


def test_pvcs_without_a_storage_or_a_volume_are_not_restored() -> None:
    foreign = new_object("PersistentVolumeClaim", "theirs")
    foreign["spec"] = {"volumeName": "v"}
    unbound = new_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    assert bound_pvcs([foreign, unbound]) == {}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_final_prepare_status_is_restored(phase: str) -> None:
    before = prepared_storage(phase, message="why")
    status = restored_status([before], {**before, "status": {}})
    assert status == {"claimName": "data", "prepare": {"phase": phase, "message": "why"}}


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
def test_an_unfinished_prepare_is_restored_as_failed(phase: str) -> None:
    before = prepared_storage(phase)
    status = restored_status([before], {**before, "status": {}})
    assert status["prepare"] == {"phase": "Failed", "message": UNFINISHED_PREPARE_MESSAGE}


def test_the_prepare_status_of_an_existing_storage_is_kept() -> None:
    before, now = prepared_storage("Running"), prepared_storage("Succeeded")
    assert restored_status([before], now) == {"claimName": "data"}


def test_a_storage_without_prepare_gets_no_prepare_status() -> None:
    assert restored_status([], new_object("GPUStorage", "data")) == {"claimName": "data"}


def prepared_storage(phase: str, **more: str) -> dict[str, Any]:
    prepare = {"phase": phase, **more} if phase else {}
    parts = {"spec": {"prepare": {"fromImage": "fill:1"}}, "status": {"prepare": prepare}}
    return new_object("GPUStorage", "data") | parts


def storage_pvc() -> dict[str, Any]:
    pvc = new_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    return pvc | {"spec": {"volumeName": "v"}}


def new_volume(pvc: str = "data") -> dict[str, Any]:
    reference = {"namespace": "runtime-instance", "name": pvc, "uid": "old"}
    return {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"claimRef": reference}}


BACKUP = [new_object("GPUUnit", "mine"), prepared_storage("Succeeded"), storage_pvc()]
PLURALS = {
    "pvc": "PersistentVolumeClaim",
    "pv": "PersistentVolume",
    "gpustorages.runtime.lokiwager.io": "GPUStorage",
    "gpuunits.runtime.lokiwager.io": "GPUUnit",
}


class Cluster:
    """Subset of kubectl for a restore; `writes` are the commands that change something."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self._objects = {(item["kind"], item["metadata"]["name"]): item for item in objects}
        self.writes: list[tuple[str, ...]] = []
        self.after_a_write: Callable[[], None] = lambda: None

    def __call__(self, verb: str, *arguments: str, text: str | None = None) -> str:
        if verb == "get":
            return self._get(PLURALS[arguments[0]], arguments[1])
        self.writes.append((verb, *arguments))
        body = {} if text is None else json.loads(text)
        created = [self._create(item) for item in body.get("items", [body] if body else [])]
        if verb == "patch":
            self._patch(PLURALS[arguments[0]], arguments[1], json.loads(arguments[-1]))
        self.after_a_write()
        return "".join(map(json.dumps, created))

    def find(self, kind: str, name: str) -> dict[str, Any]:
        return self._objects[kind, name]

    def _get(self, kind: str, name: str) -> str:
        if name == "--namespace":
            return json.dumps({"items": [v for k, v in self._objects.items() if k[0] == kind]})
        manifest = self._objects.get((kind, name))
        return "" if manifest is None else json.dumps(manifest)

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        key = body["kind"], body["metadata"]["name"]
        assert key not in self._objects, f"{key} already exists"
        self._objects[key] = body | {"metadata": {**body["metadata"], "uid": "new"}}
        return self._objects[key]

    def _patch(self, kind: str, name: str, body: dict[str, Any]) -> None:
        manifest = self._objects[kind, name]
        for part, changes in body.items():
            manifest[part] = manifest.get(part, {}) | changes


def test_a_restored_storage_gets_its_old_volume_which_is_reserved_for_its_pvc() -> None:
    cluster = Cluster(new_volume())
    Restorer(BACKUP, cluster).run()
    pvc = cluster.find("PersistentVolumeClaim", "data")
    assert pvc["spec"]["volumeName"] == "v"
    assert cluster.find("PersistentVolume", "v")["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "runtime-instance",
        "name": "data",
        "uid": None,
        "resourceVersion": None,
    }
    status = cluster.find("GPUStorage", "data")["status"]
    assert status == {"claimName": "data", "prepare": {"phase": "Succeeded"}}
    assert cluster.find("GPUUnit", "mine")


def test_a_second_restore_writes_nothing() -> None:
    cluster = Cluster(new_volume())
    Restorer(BACKUP, cluster).run()
    cluster.writes.clear()
    Restorer(BACKUP, cluster).run()
    assert cluster.writes == []


@pytest.mark.parametrize("writes", range(1, 5))
def test_an_interrupted_restore_is_completed_by_a_second_one(writes: int) -> None:
    cluster = Cluster(new_volume())

    def fail_after_writes() -> None:
        if len(cluster.writes) == writes:
            raise BrokenPipeError

    cluster.after_a_write = fail_after_writes
    with pytest.raises(BrokenPipeError):
        Restorer(BACKUP, cluster).run()
    cluster.after_a_write = lambda: None
    Restorer(BACKUP, cluster).run()
    assert cluster.find("PersistentVolumeClaim", "data")
    assert cluster.find("GPUStorage", "data")["status"]["prepare"] == {"phase": "Succeeded"}
    assert cluster.find("GPUUnit", "mine")


def test_an_existing_storage_with_a_pvc_is_not_changed() -> None:
    cluster = Cluster(prepared_storage("Running"), storage_pvc(), new_volume())
    Restorer(BACKUP, cluster).run()
    assert [verb for verb, *_ in cluster.writes] == ["create"]
    assert cluster.find("GPUUnit", "mine")


def test_a_volume_that_is_bound_to_another_pvc_is_not_used() -> None:
    cluster = Cluster(new_volume("another"))
    Restorer(BACKUP, cluster).run()
    assert cluster.find("PersistentVolume", "v")["spec"]["claimRef"]["name"] == "another"
    with pytest.raises(KeyError):
        cluster.find("PersistentVolumeClaim", "data")
