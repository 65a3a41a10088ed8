"""What a backup holds, in the form in which it is brought back: decided by values alone."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.v1alpha1 import wellknown
from shared.v1alpha1.phases import PreparePhase

Object = Mapping[str, Any]

# Those that others refer to come first.
KINDS: Final = {
    "StockPool": "stockpools",
    "GPUStorage": "gpustorages",
    "Function": "functions",
    "GPUUnit": "gpuunits",
}
# A lock names the uid of its unit, which is another one after the restore; what was to be filled
# again then may hold the files of users since; and a claim that passes for bound is taken for lost
# where its volume does not know it by its uid.
FORGOTTEN: Final = (
    wellknown.MOUNTED_BY,
    wellknown.RECOVER,
    "kubectl.kubernetes.io/last-applied-configuration",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
)
ENDED: Final = (PreparePhase.SUCCEEDED, PreparePhase.FAILED)
UNKNOWN: Final = (
    "the filling had not ended when the backup was made, and the volume may hold files of users "
    "since: look at it, and recover only if it is to be filled"
)


def restorable(backup: Iterable[Object]) -> list[dict[str, Any]]:
    """What people asked for, without what a server had added to it."""
    kept = [each for each in backup if each["kind"] in KINDS and not has_owner(each)]
    ordered = sorted(kept, key=lambda each: list(KINDS).index(each["kind"]))
    return [bare(each, each["spec"]) for each in ordered]


def has_owner(subject: Object) -> bool:
    return bool(subject["metadata"].get("ownerReferences"))


def identity(subject: Object) -> tuple[str, str, str]:
    """What tells it from all others."""
    meta = subject["metadata"]
    return subject["kind"], meta["namespace"], meta["name"]


def bare(subject: Object, spec: Object) -> dict[str, Any]:
    """The object as it is created."""
    meta = subject["metadata"]
    notes = {k: v for k, v in meta.get("annotations", {}).items() if k not in FORGOTTEN}
    return {
        "apiVersion": subject["apiVersion"],
        "kind": subject["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": meta.get("labels", {}),
            "annotations": notes,
        },
        "spec": spec,
    }


def claims_of(backup: Iterable[Object]) -> dict[str, Object]:
    """The bound claims of storages, by the name of their storage."""
    return {
        each["metadata"]["name"]: each
        for each in backup
        if each["kind"] == "PersistentVolumeClaim"
        and each["spec"].get("volumeName")
        and any(
            owner["kind"] == "GPUStorage" for owner in each["metadata"].get("ownerReferences", ())
        )
    }


def owned(claim: Object, storage: Object) -> dict[str, Any]:
    """The claim of an old volume for a storage as it is now."""
    kept = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName")
    body = bare(claim, {key: claim["spec"][key] for key in kept if key in claim["spec"]})
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": storage["apiVersion"],
            "kind": storage["kind"],
            "name": storage["metadata"]["name"],
            "uid": storage["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    return body


def reserved(claim: Object) -> dict[str, Any]:
    """The patch that keeps a volume for a claim of that name, and for nobody else's."""
    meta = claim["metadata"]
    named = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"} | {
        key: meta[key] for key in ("name", "namespace")
    }
    return {"spec": {"claimRef": {**named, "uid": None, "resourceVersion": None}}}


def is_free_for(volume: Object, claim: Object) -> bool:
    """Whether nobody else has the volume, or had it last."""
    reference, meta = volume["spec"].get("claimRef"), claim["metadata"]
    if reference is None:
        return True
    return (reference["namespace"], reference["name"]) == (meta["namespace"], meta["name"])


def status_of(backup: Iterable[Object], storage: Object) -> dict[str, Any]:
    """What is to be known of a storage with its old volume: that there is one, and its filling."""
    status = {"claimName": storage["metadata"]["name"]}
    if "prepare" not in storage["spec"] or has_ended(filling_of(storage)):
        return status
    before = filling_of(next(each for each in backup if identity(each) == identity(storage)))
    return {**status, "prepare": before if has_ended(before) else given_up(before)}


def filling_of(storage: Object) -> Object:
    """How far along its filling is; empty where nobody has said."""
    prepare: Object = storage.get("status", {}).get("prepare", {})
    return prepare


def has_ended(prepare: Object) -> bool:
    return prepare.get("phase") in ENDED


def given_up(prepare: Object) -> dict[str, Any]:
    """A filling that may have gone on after the backup: it is never begun again by itself."""
    recovery = {"recoveryPhase": PreparePhase.FAILED.value} if prepare.get("recoveredBy") else {}
    return {**prepare, "phase": PreparePhase.FAILED.value, "message": UNKNOWN, **recovery}
