"""The user's unit as it is made from stock: the reserved envelope and the user's fields."""

from typing import Any

import msgspec

from apiserver.commands import CreateUnit
from apiserver.services.request_hash import request_hash
from shared import names, wellknown
from shared.v1alpha1.envelope import Envelope
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec


def unit_body(command: CreateUnit, stock: GPUUnit) -> dict[str, Any]:
    """Where it came from is in its annotations, never in its spec."""
    labels = {
        **command.labels,
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
        wellknown.OPERATION_LABEL: names.label_hash(command.operation_id),
    }
    annotations = {
        wellknown.OPERATION_ID: command.operation_id,
        wellknown.REQUEST_HASH: request_hash(command),
        wellknown.SOURCE_STOCK_NAME: stock.metadata.name,
        wellknown.SOURCE_STOCK_NAMESPACE: stock.metadata.namespace,
        wellknown.SOURCE_STOCK_UID: stock.metadata.uid,
    }
    metadata = {"name": command.name, "labels": labels, "annotations": annotations}
    return {"metadata": metadata, "spec": msgspec.to_builtins(unit_spec(command, stock))}


def unit_spec(command: CreateUnit, stock: GPUUnit) -> GPUUnitSpec:
    reserved = {
        field.name: getattr(stock.spec, field.name) for field in msgspec.structs.fields(Envelope)
    }
    return GPUUnitSpec(
        **reserved,
        image=command.image,
        image_pull_secrets=command.image_pull_secrets,
        template=command.template,
        access=command.access,
        storage_mounts=command.storage_mounts,
        serverless=command.serverless,
    )


def is_made_by(unit: GPUUnit, operation_id: str) -> bool:
    return unit.metadata.annotations.get(wellknown.OPERATION_ID) == operation_id


def source_uid(unit: GPUUnit) -> str:
    """The uid of the stock that the unit came from."""
    return unit.metadata.annotations.get(wellknown.SOURCE_STOCK_UID, "")
