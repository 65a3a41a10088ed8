"""What a backup holds, in the form in which it is brought back: decided by values alone."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.v1alpha1 import wellknown
from shared.v1alpha1.phases import PreparePhase

Manifest = Mapping[str, Any]

# Those that others refer to come first.
PLURALS: Final = {
    "StockPool": "stockpools",
    "GPUStorage": "gpustorages",
    "Function": "functions",
    "GPUUnit": "gpuunits",
}
# A lock names the uid of its unit, which is another one after the restore; what was to be filled
# again then may hold the files of users since; and a claim that passes for bound is taken for lost
# where its volume does not know it by its uid.
DROPPED_ANNOTATIONS: Final = (
    wellknown.MOUNTED_BY_ANNOTATION,
    wellknown.RECOVER_ANNOTATION,
    "kubectl.kubernetes.io/last-applied-configuration",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
)
FINAL_PREPARE_PHASES: Final = (PreparePhase.SUCCEEDED, PreparePhase.FAILED)
UNFINISHED_PREPARE_MESSAGE: Final = (
    "the filling had not ended when the backup was made, and the volume may hold files of users "
    "since: look at it, and recover only if it is to be filled"
)


def restorable_objects(backup: Iterable[Manifest]) -> list[dict[str, Any]]:
    """What people asked for, without what a server had added to it."""
    kept = [each for each in backup if each["kind"] in PLURALS and not has_owner(each)]
    ordered = sorted(kept, key=lambda each: list(PLURALS).index(each["kind"]))
    return [create_body(each, each["spec"]) for each in ordered]


def has_owner(manifest: Manifest) -> bool:
    return bool(manifest["metadata"].get("ownerReferences"))


def object_identity(manifest: Manifest) -> tuple[str, str, str]:
    """What tells it from all others."""
    meta = manifest["metadata"]
    return manifest["kind"], meta["namespace"], meta["name"]


def create_body(manifest: Manifest, spec: Manifest) -> dict[str, Any]:
    """The object as it is created."""
    meta = manifest["metadata"]
    notes = {k: v for k, v in meta.get("annotations", {}).items() if k not in DROPPED_ANNOTATIONS}
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": meta.get("labels", {}),
            "annotations": notes,
        },
        "spec": spec,
    }


def bound_pvcs(backup: Iterable[Manifest]) -> dict[str, Manifest]:
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


def owned_pvc(pvc: Manifest, storage: Manifest) -> dict[str, Any]:
    """The claim of an old volume for a storage as it is now."""
    kept = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName")
    body = create_body(pvc, {key: pvc["spec"][key] for key in kept if key in pvc["spec"]})
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


def claim_ref_patch(pvc: Manifest) -> dict[str, Any]:
    """The patch that keeps a volume for a claim of that name, and for nobody else's."""
    meta = pvc["metadata"]
    named = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"} | {
        key: meta[key] for key in ("name", "namespace")
    }
    return {"spec": {"claimRef": {**named, "uid": None, "resourceVersion": None}}}


def is_volume_free_for(volume: Manifest, pvc: Manifest) -> bool:
    """Whether nobody else has the volume, or had it last."""
    reference, meta = volume["spec"].get("claimRef"), pvc["metadata"]
    if reference is None:
        return True
    return (reference["namespace"], reference["name"]) == (meta["namespace"], meta["name"])


def restored_status(backup: Iterable[Manifest], storage: Manifest) -> dict[str, Any]:
    """What is to be known of a storage with its old volume: that there is one, and its filling."""
    status = {"claimName": storage["metadata"]["name"]}
    if "prepare" not in storage["spec"] or is_prepare_final(prepare_status(storage)):
        return status
    before = prepare_status(
        next(each for each in backup if object_identity(each) == object_identity(storage))
    )
    return {**status, "prepare": before if is_prepare_final(before) else abandoned_prepare(before)}


def prepare_status(storage: Manifest) -> Manifest:
    """How far along its filling is; empty where nobody has said."""
    prepare: Manifest = storage.get("status", {}).get("prepare", {})
    return prepare


def is_prepare_final(prepare: Manifest) -> bool:
    return prepare.get("phase") in FINAL_PREPARE_PHASES


def abandoned_prepare(prepare: Manifest) -> dict[str, Any]:
    """A filling that may have gone on after the backup: it is never begun again by itself."""
    recovery = {"recoveryPhase": PreparePhase.FAILED.value} if prepare.get("recoveredBy") else {}
    return {
        **prepare,
        "phase": PreparePhase.FAILED.value,
        "message": UNFINISHED_PREPARE_MESSAGE,
        **recovery,
    }
