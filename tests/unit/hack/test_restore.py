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


def an_object(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    seen = {"uid": "old", "resourceVersion": "7", "generation": 3, "finalizers": ["some/one"]}
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "runtime-instance", **seen, **metadata},
        "spec": {"of": name},
        "status": {"phase": "Ready"},
    }


def test_server_generated_fields_are_not_restored() -> None:
    (unit,) = restorable_objects([an_object("GPUUnit", "mine", labels={"a": "b"})])
    assert unit["metadata"] == {
        "name": "mine",
        "namespace": "runtime-instance",
        "labels": {"a": "b"},
        "annotations": {},
    }
    assert set(unit) == {"apiVersion", "kind", "metadata", "spec"}


def test_owned_objects_are_not_restored() -> None:
    of_a_pool = an_object("GPUUnit", "warm-0", ownerReferences=[{"kind": "StockPool"}])
    assert restorable_objects([of_a_pool, an_object("Operation", "o")]) == []


def test_referenced_kinds_are_restored_first() -> None:
    kinds = ["GPUUnit", "Function", "GPUStorage", "StockPool"]
    made = restorable_objects([an_object(kind, "one") for kind in kinds])
    assert [each["kind"] for each in made] == ["StockPool", "GPUStorage", "Function", "GPUUnit"]


def test_locks_and_requests_are_forgotten_and_the_mark_of_admission_is_not() -> None:
    notes = {
        wellknown.MOUNTED_BY_ANNOTATION: "{}",
        wellknown.RECOVER_ANNOTATION: "r1",
        wellknown.ADMITTED_ANNOTATION: "node",
    }
    (made,) = restorable_objects([an_object("GPUStorage", "data", annotations=notes)])
    assert made["metadata"]["annotations"] == {wellknown.ADMITTED_ANNOTATION: "node"}


def test_a_claim_becomes_that_of_the_storage_as_it_is_now() -> None:
    claim = an_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    claim["spec"] = {"volumeName": "v", "accessModes": ["ReadWriteOnce"], "dataSource": None}
    storage = an_object("GPUStorage", "data", uid="new")
    made = owned_pvc(bound_pvcs([claim])["data"], storage)

    assert made["spec"] == {"volumeName": "v", "accessModes": ["ReadWriteOnce"]}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("GPUStorage", "new", True)


def test_a_restored_pvc_has_no_binding_annotations() -> None:
    notes = {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    claim = an_object("PersistentVolumeClaim", "data", annotations={**notes, "mine": "too"})
    made = owned_pvc(claim, an_object("GPUStorage", "data"))
    assert made["metadata"]["annotations"] == {"mine": "too"}


def test_claims_of_strangers_and_claims_without_a_volume_are_left_alone() -> None:
    strange = an_object("PersistentVolumeClaim", "theirs")
    strange["spec"] = {"volumeName": "v"}
    unbound = an_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    assert bound_pvcs([strange, unbound]) == {}


@pytest.mark.parametrize("ended", ["Succeeded", "Failed"])
def test_a_final_prepare_status_is_restored(ended: str) -> None:
    before = a_filled_storage(ended, message="why")
    known = restored_status([before], {**before, "status": {}})
    assert known == {"claimName": "data", "prepare": {"phase": ended, "message": "why"}}


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
def test_an_unfinished_prepare_is_restored_as_failed(phase: str) -> None:
    before = a_filled_storage(phase)
    known = restored_status([before], {**before, "status": {}})
    assert known["prepare"] == {"phase": "Failed", "message": UNFINISHED_PREPARE_MESSAGE}


def test_the_prepare_status_of_an_existing_storage_is_kept() -> None:
    before, now = a_filled_storage("Running"), a_filled_storage("Succeeded")
    assert restored_status([before], now) == {"claimName": "data"}


def test_a_storage_without_prepare_gets_no_prepare_status() -> None:
    assert restored_status([], an_object("GPUStorage", "data")) == {"claimName": "data"}


def a_filled_storage(phase: str, **more: str) -> dict[str, Any]:
    prepare = {"phase": phase, **more} if phase else {}
    filled = {"spec": {"prepare": {"fromImage": "fill:1"}}, "status": {"prepare": prepare}}
    return an_object("GPUStorage", "data") | filled


def a_claim() -> dict[str, Any]:
    claim = an_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    return claim | {"spec": {"volumeName": "v"}}


def a_volume(claim: str = "data") -> dict[str, Any]:
    reference = {"namespace": "runtime-instance", "name": claim, "uid": "old"}
    return {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"claimRef": reference}}


BACKUP = [an_object("GPUUnit", "mine"), a_filled_storage("Succeeded"), a_claim()]
PLURALS = {
    "pvc": "PersistentVolumeClaim",
    "pv": "PersistentVolume",
    "gpustorages.runtime.lokiwager.io": "GPUStorage",
    "gpuunits.runtime.lokiwager.io": "GPUUnit",
}


class Cluster:
    """Subset of kubectl for a restore; `writes` are the commands that change something."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self._objects = {(each["kind"], each["metadata"]["name"]): each for each in objects}
        self.writes: list[tuple[str, ...]] = []
        self.after_a_write: Callable[[], None] = lambda: None

    def __call__(self, verb: str, *arguments: str, text: str | None = None) -> str:
        if verb == "get":
            return self._get(PLURALS[arguments[0]], arguments[1])
        self.writes.append((verb, *arguments))
        given = {} if text is None else json.loads(text)
        made = [self._created(each) for each in given.get("items", [given] if given else [])]
        if verb == "patch":
            self._patch(PLURALS[arguments[0]], arguments[1], json.loads(arguments[-1]))
        self.after_a_write()
        return "".join(map(json.dumps, made))

    def find(self, kind: str, name: str) -> dict[str, Any]:
        return self._objects[kind, name]

    def _get(self, kind: str, name: str) -> str:
        if name == "--namespace":
            return json.dumps({"items": [v for k, v in self._objects.items() if k[0] == kind]})
        found = self._objects.get((kind, name))
        return "" if found is None else json.dumps(found)

    def _created(self, body: dict[str, Any]) -> dict[str, Any]:
        key = body["kind"], body["metadata"]["name"]
        assert key not in self._objects, f"there is a {key} already"
        self._objects[key] = body | {"metadata": {**body["metadata"], "uid": "new"}}
        return self._objects[key]

    def _patch(self, kind: str, name: str, body: dict[str, Any]) -> None:
        found = self._objects[kind, name]
        for part, changes in body.items():
            found[part] = found.get(part, {}) | changes


def test_a_storage_gets_its_old_volume_and_keeps_it_from_others_meanwhile() -> None:
    cluster = Cluster(a_volume())
    Restorer(BACKUP, cluster).run()
    claim = cluster.find("PersistentVolumeClaim", "data")
    assert claim["spec"]["volumeName"] == "v"
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
    cluster = Cluster(a_volume())
    Restorer(BACKUP, cluster).run()
    cluster.writes.clear()
    Restorer(BACKUP, cluster).run()
    assert cluster.writes == []


@pytest.mark.parametrize("writes", range(1, 5))
def test_an_interrupted_restore_is_finished_by_the_next(writes: int) -> None:
    cluster = Cluster(a_volume())

    def break_down() -> None:
        if len(cluster.writes) == writes:
            raise BrokenPipeError

    cluster.after_a_write = break_down
    with pytest.raises(BrokenPipeError):
        Restorer(BACKUP, cluster).run()
    cluster.after_a_write = lambda: None
    Restorer(BACKUP, cluster).run()
    assert cluster.find("PersistentVolumeClaim", "data")
    assert cluster.find("GPUStorage", "data")["status"]["prepare"] == {"phase": "Succeeded"}
    assert cluster.find("GPUUnit", "mine")


def test_a_storage_that_was_not_lost_is_left_alone() -> None:
    cluster = Cluster(a_filled_storage("Running"), a_claim(), a_volume())
    Restorer(BACKUP, cluster).run()
    assert [verb for verb, *_ in cluster.writes] == ["create"]
    assert cluster.find("GPUUnit", "mine")


def test_a_volume_bound_to_another_pvc_is_not_taken() -> None:
    cluster = Cluster(a_volume("another"))
    Restorer(BACKUP, cluster).run()
    assert cluster.find("PersistentVolume", "v")["spec"]["claimRef"]["name"] == "another"
    with pytest.raises(KeyError):
        cluster.find("PersistentVolumeClaim", "data")
