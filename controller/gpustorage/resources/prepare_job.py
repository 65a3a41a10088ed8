"""Manifest of the prepare Job."""

from typing import Any, Final

from controller.apply.drop_empty import drop_empty
from controller.apply.pod_security import container_security_context, pod_security_fields
from controller.gpustorage.labels import StorageComponent, child_metadata, pod_labels
from controller.gpustorage.settings import StorageSettings
from controller.runtime import ObjectKey
from shared.k8s.job import Job
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpustorage import KIND, GPUStorage, PrepareSpec

DATA_DIR: Final = "/data"
SOURCE_DIR: Final = "/source"
# One retry covers a lost node; a program that fails twice will fail again.
BACKOFF_LIMIT: Final = 1
# Capabilities to copy the files of all users unchanged. Without FSETID, setgid folders would
# silently lose that bit.
COPY_CAPABILITIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")


def prepare_job_manifest(
    storage: GPUStorage, prepare: PrepareSpec, attempt_id: str, settings: StorageSettings
) -> dict[str, Any]:
    """Build the Job of one attempt; a finalizer keeps the Job until its outcome is recorded."""
    metadata = child_metadata(
        storage, names.prepare_job_name(storage.metadata.name), StorageComponent.PREPARE
    )
    return {
        "metadata": {
            **metadata,
            "annotations": {wellknown.RECOVER_ANNOTATION: attempt_id},
            "finalizers": [wellknown.OUTCOME_FINALIZER],
        },
        "spec": {
            "backoffLimit": BACKOFF_LIMIT,
            "activeDeadlineSeconds": settings.prepare_deadline_seconds,
            "podReplacementPolicy": "Failed",  # two pods must never write at the same time
            "template": _pod_template(storage, prepare, settings),
        },
    }


def prepare_job_key(storage_key: ObjectKey) -> ObjectKey:
    """Return the key of the storage's Job; its NetworkPolicy has the same name."""
    return ObjectKey(storage_key.namespace, names.prepare_job_name(storage_key.name))


def is_prepare_job_of(job: Job, storage_name: str) -> bool:
    """Return whether the Job belongs to this storage or an earlier one of that name."""
    owners = job.metadata.owner_references
    return any(
        owner.controller and (owner.kind, owner.name) == (KIND, storage_name) for owner in owners
    )


def attempt_id_of(job: Job) -> str:
    """Return the recover request that the Job is for; empty for the first attempt."""
    return job.metadata.annotations.get(wellknown.RECOVER_ANNOTATION, "")


def has_outcome_finalizer(job: Job) -> bool:
    """Return whether the Job is kept until its outcome is in the storage's status."""
    return wellknown.OUTCOME_FINALIZER in job.metadata.finalizers


def _pod_template(
    storage: GPUStorage, prepare: PrepareSpec, settings: StorageSettings
) -> dict[str, Any]:
    source_name = prepare.from_storage_name
    container = _copy_container(settings.copy_image) if source_name else _image_container(prepare)
    volumes = [_pvc_volume("data", storage.metadata.name)]
    return {
        "metadata": {"labels": pod_labels(storage, StorageComponent.PREPARE)},
        "spec": {
            **pod_security_fields(),
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [*volumes, _pvc_volume("source", source_name)] if source_name else volumes,
        },
    }


def _image_container(prepare: PrepareSpec) -> dict[str, Any]:
    optional = {"command": list(prepare.command), "args": list(prepare.args)}
    return {
        "name": "prepare",
        "image": prepare.from_image,
        **drop_empty(optional),
        "securityContext": container_security_context(),
        "volumeMounts": [{"name": "data", "mountPath": DATA_DIR}],
    }


def _copy_container(image: str) -> dict[str, Any]:
    security = {"allowPrivilegeEscalation": False}
    capabilities = {"drop": ["ALL"], "add": list(COPY_CAPABILITIES)}
    return {
        "name": "prepare",
        "image": image,
        "command": ["cp", "-a", f"{SOURCE_DIR}/.", f"{DATA_DIR}/"],
        "securityContext": {**security, "capabilities": capabilities},
        "volumeMounts": [
            {"name": "data", "mountPath": DATA_DIR},
            {"name": "source", "mountPath": SOURCE_DIR, "readOnly": True},
        ],
    }


def _pvc_volume(name: str, pvc_name: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": pvc_name}}
