"""The GPUUnit of a user: the resources of its stock unit and the fields of the request."""

import re
from typing import Any, Final

import msgspec

from apiserver.operations.request_hash import request_hash
from apiserver.units.commands import CreateUnit
from shared.v1alpha1 import function, names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.group import API_VERSION
from shared.v1alpha1.unit_resources import UnitResources

_WORKER_OPERATION_ID: Final = re.compile(r"fn/([^/]+)/[0-9]{1,18}", re.ASCII)


def unit_manifest(command: CreateUnit, stock_unit: GPUUnit) -> dict[str, Any]:
    """Return the new GPUUnit; its annotations name its operation and its stock unit."""
    labels = {
        **command.labels,
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
        wellknown.OPERATION_LABEL: names.label_hash(command.operation_id),
    }
    annotations = {
        wellknown.OPERATION_ID_ANNOTATION: command.operation_id,
        wellknown.REQUEST_HASH_ANNOTATION: request_hash(command),
        wellknown.SOURCE_STOCK_NAME_ANNOTATION: stock_unit.metadata.name,
        wellknown.SOURCE_STOCK_NAMESPACE_ANNOTATION: stock_unit.metadata.namespace,
        wellknown.SOURCE_STOCK_UID_ANNOTATION: stock_unit.metadata.uid,
    }
    metadata: dict[str, Any] = {"name": command.name, "labels": labels, "annotations": annotations}
    uid = worker_function_uid(command)
    if uid is not None and command.serverless is not None:
        metadata["ownerReferences"] = [
            function_owner_reference(command.serverless.function_name, uid)
        ]
    return {"metadata": metadata, "spec": msgspec.to_builtins(unit_spec(command, stock_unit))}


def worker_function_uid(command: CreateUnit) -> str | None:
    """Return the uid of the function that requests a worker; None for a unit of a user."""
    match = _WORKER_OPERATION_ID.fullmatch(command.operation_id)
    return match[1] if match and command.serverless else None


def function_owner_reference(name: str, uid: str) -> dict[str, Any]:
    """Return the owner reference that deletes a worker with its function."""
    kind = {"apiVersion": API_VERSION, "kind": function.KIND, "controller": True}
    return {**kind, "name": name, "uid": uid}


def unit_spec(command: CreateUnit, stock_unit: GPUUnit) -> GPUUnitSpec:
    resources = {
        field.name: getattr(stock_unit.spec, field.name)
        for field in msgspec.structs.fields(UnitResources)
    }
    return GPUUnitSpec(
        **resources,
        image=command.image,
        image_pull_secrets=command.image_pull_secrets,
        template=command.template,
        access=command.access,
        storage_mounts=command.storage_mounts,
        serverless=command.serverless,
    )


def is_created_by(unit: GPUUnit, operation_id: str) -> bool:
    return unit.metadata.annotations.get(wellknown.OPERATION_ID_ANNOTATION) == operation_id


def source_stock_uid(unit: GPUUnit) -> str:
    """Return the uid of the stock unit that the unit came from."""
    return unit.metadata.annotations.get(wellknown.SOURCE_STOCK_UID_ANNOTATION, "")
