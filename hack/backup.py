"""The objects of a backup in the form in which they are restored; pure functions."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.v1alpha1 import wellknown
from shared.v1alpha1.phases import PreparePhase

Manifest = Mapping[str, Any]

# The order of creation: kinds that others refer to come first.
PLURALS: Final = {
    "StockPool": "stockpools",
    "GPUStorage": "gpustorages",
    "Function": "functions",
    "GPUUnit": "gpuunits",
}
# A lock names the uid of its unit, which changes with the restore. A volume whose recovery was
# requested may contain files that users wrote since. A PVC that is marked as bound counts as lost
# if its volume refers to another uid.
DROPPED_ANNOTATIONS: Final = (
    wellknown.MOUNTED_BY_ANNOTATION,
    wellknown.RECOVER_ANNOTATION,
    "kubectl.kubernetes.io/last-applied-configuration",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
)
FINAL_PREPARE_PHASES: Final = (PreparePhase.SUCCEEDED, PreparePhase.FAILED)
UNFINISHED_PREPARE_MESSAGE: Final = (
    "the prepare had not finished when the backup was made, and users may have written to the "
    "volume since then: check the files, and recover only if the volume must be prepared again"
)


def restorable_objects(backup: Iterable[Manifest]) -> list[dict[str, Any]]:
    """Return the objects that users created, without fields that a server added."""
    manifests = [item for item in backup if item["kind"] in PLURALS and not has_owner(item)]
    ordered = sorted(manifests, key=lambda item: list(PLURALS).index(item["kind"]))
    return [create_body(item, item["spec"]) for item in ordered]


def has_owner(manifest: Manifest) -> bool:
    return bool(manifest["metadata"].get("ownerReferences"))


def object_identity(manifest: Manifest) -> tuple[str, str, str]:
    """Return kind, namespace and name."""
    meta = manifest["metadata"]
    return manifest["kind"], meta["namespace"], meta["name"]


def create_body(manifest: Manifest, spec: Manifest) -> dict[str, Any]:
    """Return the body with which the object is created."""
    meta = manifest["metadata"]
    annotations = {
        key: value
        for key, value in meta.get("annotations", {}).items()
        if key not in DROPPED_ANNOTATIONS
    }
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "labels": meta.get("labels", {}),
            "annotations": annotations,
        },
        "spec": spec,
    }


def bound_pvcs(backup: Iterable[Manifest]) -> dict[str, Manifest]:
    """Return the bound PVCs of storages, by the name of their storage."""
    return {
        item["metadata"]["name"]: item
        for item in backup
        if item["kind"] == "PersistentVolumeClaim"
        and item["spec"].get("volumeName")
        and any(
            owner["kind"] == "GPUStorage" for owner in item["metadata"].get("ownerReferences", ())
        )
    }


def owned_pvc(pvc: Manifest, storage: Manifest) -> dict[str, Any]:
    """Return the PVC of an old volume, with the present storage as its owner."""
    fields = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName")
    body = create_body(pvc, {key: pvc["spec"][key] for key in fields if key in pvc["spec"]})
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
    """Return the patch that reserves a volume for a PVC of that name."""
    meta = pvc["metadata"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"} | {
        key: meta[key] for key in ("name", "namespace")
    }
    return {"spec": {"claimRef": {**reference, "uid": None, "resourceVersion": None}}}


def is_volume_free_for(volume: Manifest, pvc: Manifest) -> bool:
    """Return whether the volume has no claimRef, or the claimRef of a PVC of that name."""
    reference, meta = volume["spec"].get("claimRef"), pvc["metadata"]
    if reference is None:
        return True
    return (reference["namespace"], reference["name"]) == (meta["namespace"], meta["name"])


def restored_status(backup: Iterable[Manifest], storage: Manifest) -> dict[str, Any]:
    """Return the status of a storage with its old volume: its PVC and its prepare."""
    status = {"claimName": storage["metadata"]["name"]}
    if "prepare" not in storage["spec"] or is_prepare_final(prepare_status(storage)):
        return status
    before = prepare_status(
        next(item for item in backup if object_identity(item) == object_identity(storage))
    )
    return {**status, "prepare": before if is_prepare_final(before) else abandoned_prepare(before)}


def prepare_status(storage: Manifest) -> Manifest:
    """Return the status of the prepare; empty before it is reported."""
    prepare: Manifest = storage.get("status", {}).get("prepare", {})
    return prepare


def is_prepare_final(prepare: Manifest) -> bool:
    return prepare.get("phase") in FINAL_PREPARE_PHASES


def abandoned_prepare(prepare: Manifest) -> dict[str, Any]:
    """Return an unfinished prepare as failed, so that the controller does not repeat it."""
    recovery = {"recoveryPhase": PreparePhase.FAILED.value} if prepare.get("recoveredBy") else {}
    return {
        **prepare,
        "phase": PreparePhase.FAILED.value,
        "message": UNFINISHED_PREPARE_MESSAGE,
        **recovery,
    }
