"""What of a backup is brought back, and in which form."""

from typing import Any

from hack.restore import claims_of, filling_of, owned, restorable
from shared import wellknown


def an_object(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    seen = {"uid": "old", "resourceVersion": "7", "generation": 3, "finalizers": ["some/one"]}
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "runtime-instance", **seen, **metadata},
        "spec": {"of": name},
        "status": {"phase": "Ready"},
    }


def test_what_a_server_had_added_is_left_out() -> None:
    (unit,) = restorable([an_object("GPUUnit", "mine", labels={"a": "b"})])
    assert unit["metadata"] == {
        "name": "mine",
        "namespace": "runtime-instance",
        "labels": {"a": "b"},
        "annotations": {},
    }
    assert set(unit) == {"apiVersion", "kind", "metadata", "spec"}


def test_owners_make_what_they_own_anew() -> None:
    of_a_pool = an_object("GPUUnit", "warm-0", ownerReferences=[{"kind": "StockPool"}])
    assert restorable([of_a_pool, an_object("Operation", "o")]) == []


def test_those_that_others_refer_to_come_first() -> None:
    kinds = ["GPUUnit", "Function", "GPUStorage", "StockPool"]
    made = restorable([an_object(kind, "one") for kind in kinds])
    assert [each["kind"] for each in made] == ["StockPool", "GPUStorage", "Function", "GPUUnit"]


def test_a_lock_is_forgotten_and_the_mark_of_admission_is_not() -> None:
    notes = {wellknown.MOUNTED_BY: "{}", wellknown.ADMITTED: "node"}
    (made,) = restorable([an_object("GPUStorage", "data", annotations=notes)])
    assert made["metadata"]["annotations"] == {wellknown.ADMITTED: "node"}


def test_a_claim_becomes_that_of_the_storage_as_it_is_now() -> None:
    claim = an_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    claim["spec"] = {"volumeName": "v", "accessModes": ["ReadWriteOnce"], "dataSource": None}
    storage = an_object("GPUStorage", "data", uid="new")
    made = owned(claims_of([claim])["v"], storage)

    assert made["spec"] == {"volumeName": "v", "accessModes": ["ReadWriteOnce"]}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("GPUStorage", "new", True)


def test_claims_of_strangers_and_claims_without_a_volume_are_left_alone() -> None:
    strange = an_object("PersistentVolumeClaim", "theirs")
    strange["spec"] = {"volumeName": "v"}
    unbound = an_object("PersistentVolumeClaim", "data", ownerReferences=[{"kind": "GPUStorage"}])
    assert claims_of([strange, unbound]) == {}


def test_only_a_storage_that_was_filled_was_filled() -> None:
    filled, empty = an_object("GPUStorage", "a"), an_object("GPUStorage", "b")
    filled["status"] = {"prepare": {"phase": "Succeeded"}}
    assert filling_of([filled, empty], empty) is None
    assert filling_of([filled, empty], filled) == {"phase": "Succeeded"}
