"""The Job that fills a storage."""

from typing import Any, Final

from controller.apply.drop_empty import non_empty
from controller.apply.pod_security import locked_down_container, locked_down_pod
from controller.gpustorage.labels import Part, child_metadata, pod_labels
from controller.gpustorage.settings import StorageSettings
from controller.runtime.key import ObjectKey
from shared.k8s.job import Job
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpustorage import KIND, GPUStorage, Prepare

DATA: Final = "/data"
SOURCE: Final = "/source"
# A node may be lost once; a program that fails twice will fail again.
RETRIES: Final = 1
# What it takes to copy the files of all users as they are; without the last, folders that give
# their group to new files would silently cease to.
COPYING: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")


def prepare_job(
    storage: GPUStorage, prepare: Prepare, attempt: str, settings: StorageSettings
) -> dict[str, Any]:
    """One attempt at filling; it cannot go before its outcome is known."""
    metadata = child_metadata(storage, names.prepare_job(storage.metadata.name), Part.PREPARE)
    return {
        "metadata": {
            **metadata,
            "annotations": {wellknown.RECOVER: attempt},
            "finalizers": [wellknown.OUTCOME_FINALIZER],
        },
        "spec": {
            "backoffLimit": RETRIES,
            "activeDeadlineSeconds": settings.prepare_deadline,
            "podReplacementPolicy": "Failed",  # two must never write at once
            "template": _template(storage, prepare, settings),
        },
    }


def job_key(storage: ObjectKey) -> ObjectKey:
    """Where the Job of a storage is; its NetworkPolicy has the same name."""
    return ObjectKey(storage.namespace, names.prepare_job(storage.name))


def is_of_a_storage(job: Job, name: str) -> bool:
    """Whether the Job was made for a storage of that name, this one or an earlier one."""
    owners = job.metadata.owner_references
    return any(owner.controller and (owner.kind, owner.name) == (KIND, name) for owner in owners)


def attempt_of(job: Job) -> str:
    """The request to recover that the Job answers; empty for the first."""
    return job.metadata.annotations.get(wellknown.RECOVER, "")


def has_outcome_pending(job: Job) -> bool:
    """Whether the Job is kept until its outcome is in the storage's status."""
    return wellknown.OUTCOME_FINALIZER in job.metadata.finalizers


def _template(storage: GPUStorage, prepare: Prepare, settings: StorageSettings) -> dict[str, Any]:
    origin = prepare.from_storage_name
    container = _copying(settings.copy_image) if origin else _filling(prepare)
    volumes = [_volume("data", storage.metadata.name)]
    return {
        "metadata": {"labels": pod_labels(storage, Part.PREPARE)},
        "spec": {
            **locked_down_pod(),
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [*volumes, _volume("source", origin)] if origin else volumes,
        },
    }


def _filling(prepare: Prepare) -> dict[str, Any]:
    given = {"command": list(prepare.command), "args": list(prepare.args)}
    return {
        "name": "prepare",
        "image": prepare.from_image,
        **non_empty(given),
        "securityContext": locked_down_container(),
        "volumeMounts": [{"name": "data", "mountPath": DATA}],
    }


def _copying(image: str) -> dict[str, Any]:
    security = {"allowPrivilegeEscalation": False}
    capabilities = {"drop": ["ALL"], "add": list(COPYING)}
    return {
        "name": "prepare",
        "image": image,
        "command": ["cp", "-a", f"{SOURCE}/.", f"{DATA}/"],
        "securityContext": {**security, "capabilities": capabilities},
        "volumeMounts": [
            {"name": "data", "mountPath": DATA},
            {"name": "source", "mountPath": SOURCE, "readOnly": True},
        ],
    }


def _volume(name: str, claim: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}
