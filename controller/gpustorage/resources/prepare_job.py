"""The Job that fills a storage."""

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
# A node may be lost once; a program that fails twice will fail again.
BACKOFF_LIMIT: Final = 1
# What it takes to copy the files of all users as they are; without the last, folders that give
# their group to new files would silently cease to.
COPY_CAPABILITIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")


def prepare_job_manifest(
    storage: GPUStorage, prepare: PrepareSpec, attempt_id: str, settings: StorageSettings
) -> dict[str, Any]:
    """One attempt at filling; it cannot go before its outcome is known."""
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
            "podReplacementPolicy": "Failed",  # two must never write at once
            "template": _pod_template(storage, prepare, settings),
        },
    }


def prepare_job_key(storage_key: ObjectKey) -> ObjectKey:
    """Where the Job of a storage is; its NetworkPolicy has the same name."""
    return ObjectKey(storage_key.namespace, names.prepare_job_name(storage_key.name))


def is_prepare_job_of(job: Job, storage_name: str) -> bool:
    """Whether the Job was made for a storage of that name, this one or an earlier one."""
    owners = job.metadata.owner_references
    return any(
        owner.controller and (owner.kind, owner.name) == (KIND, storage_name) for owner in owners
    )


def attempt_id_of(job: Job) -> str:
    """The request to recover that the Job answers; empty for the first."""
    return job.metadata.annotations.get(wellknown.RECOVER_ANNOTATION, "")


def has_outcome_finalizer(job: Job) -> bool:
    """Whether the Job is kept until its outcome is in the storage's status."""
    return wellknown.OUTCOME_FINALIZER in job.metadata.finalizers


def _pod_template(
    storage: GPUStorage, prepare: PrepareSpec, settings: StorageSettings
) -> dict[str, Any]:
    origin = prepare.from_storage_name
    container = _copy_container(settings.copy_image) if origin else _image_container(prepare)
    volumes = [_pvc_volume("data", storage.metadata.name)]
    return {
        "metadata": {"labels": pod_labels(storage, StorageComponent.PREPARE)},
        "spec": {
            **pod_security_fields(),
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [*volumes, _pvc_volume("source", origin)] if origin else volumes,
        },
    }


def _image_container(prepare: PrepareSpec) -> dict[str, Any]:
    given = {"command": list(prepare.command), "args": list(prepare.args)}
    return {
        "name": "prepare",
        "image": prepare.from_image,
        **drop_empty(given),
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
