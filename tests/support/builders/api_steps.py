"""The API's steps of a hand-off, one by one: operation, stock claim and unit."""

import secrets
from dataclasses import dataclass, replace
from typing import Any

from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.group import GROUP, VERSION
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest

CLAIM_TIME = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class CreateUnitSteps:
    """The create of one unit from one stock unit."""

    unit_name: str
    operation_id: str
    stock: dict[str, Any]

    @property
    def stock_name(self) -> str:
        return str(self.stock["metadata"]["name"])

    @property
    def stock_uid(self) -> str:
        return str(self.stock["metadata"]["uid"])

    @property
    def operation_name(self) -> str:
        return names.operation_name(self.operation_id)


def new_create(unit_name: str, stock: dict[str, Any]) -> CreateUnitSteps:
    return CreateUnitSteps(unit_name, f"create {unit_name}", stock)


async def new_create_with_stock(installation: IsolatedInstallation) -> CreateUnitSteps:
    """Create one ready stock unit, and return the create of a unit from it."""
    created = await installation.create(
        "gpuunits", unit_manifest("stock-0"), namespace=installation.namespaces.stock
    )
    name = created["metadata"]["name"]
    stock = await installation.wait_unit_reason(
        name, "StockReady", namespace=installation.namespaces.stock
    )
    return new_create("mine", stock)


async def create_operation(
    installation: IsolatedInstallation, create: CreateUnitSteps, **spec: Any
) -> dict[str, Any]:
    """Create the Operation, with the stock named in it."""
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Operation",
        "metadata": {"name": create.operation_name},
        "spec": {
            "operationID": create.operation_id,
            "type": "CreateGPUUnit",
            "requestHash": "v1:test",
            "request": {"name": create.unit_name},
            "stock": {"name": create.stock_name, "uid": create.stock_uid},
            **spec,
        },
    }
    operation: dict[str, Any] = await installation.create(
        "operations", body, namespace=installation.namespaces.system
    )
    return operation


async def write_operation_status(
    installation: IsolatedInstallation, create: CreateUnitSteps, status: dict[str, Any]
) -> None:
    """Write the status of the Operation."""
    path = installation.path(
        "operations", create.operation_name, namespace=installation.namespaces.system
    )
    await installation.admin.patch(f"{path}/status", {"status": status})


async def claim_stock(installation: IsolatedInstallation, create: CreateUnitSteps) -> None:
    """Claim the stock unit in one write, which also removes its pool as owner."""
    metadata = {
        "labels": {wellknown.CLAIMED_LABEL: "true"},
        "annotations": {
            wellknown.CLAIMED_BY_ANNOTATION: create.unit_name,
            wellknown.CLAIM_OPERATION_ANNOTATION: create.operation_id,
            wellknown.CLAIMED_AT_ANNOTATION: CLAIM_TIME,
        },
        "ownerReferences": [],
    }
    path = installation.path("gpuunits", create.stock_name, namespace=installation.namespaces.stock)
    await installation.admin.patch(path, {"metadata": metadata})


def unit_from_stock_manifest(create: CreateUnitSteps, **spec: Any) -> dict[str, Any]:
    """Return the manifest of the unit, with its operation and stock in the annotations."""
    body = unit_manifest(create.unit_name, **{"image": "example/image:1", **spec})
    body["metadata"]["annotations"] = {
        wellknown.OPERATION_ID_ANNOTATION: create.operation_id,
        wellknown.SOURCE_STOCK_NAME_ANNOTATION: create.stock_name,
        wellknown.SOURCE_STOCK_UID_ANNOTATION: create.stock_uid,
    }
    return body


async def create_unit(
    installation: IsolatedInstallation, create: CreateUnitSteps, **spec: Any
) -> dict[str, Any]:
    """Do all steps of the API except closing the Operation, which the controller does as well."""
    await create_operation(installation, create)
    await claim_stock(installation, create)
    unit: dict[str, Any] = await installation.create(
        "gpuunits", unit_from_stock_manifest(create, **spec)
    )
    return unit


async def wait_operation_sweep(installation: IsolatedInstallation, create: CreateUnitSteps) -> None:
    """Wait until a younger Operation that no unit needs is deleted."""
    unneeded = replace(create, operation_id=secrets.token_hex(4))
    await create_operation(installation, unneeded)
    await write_operation_status(installation, unneeded, {"phase": "Failed"})
    await installation.wait_gone(
        "operations", unneeded.operation_name, namespace=installation.namespaces.system
    )


async def get_operation(
    installation: IsolatedInstallation, create: CreateUnitSteps
) -> dict[str, Any]:
    """Return the present Operation."""
    path = installation.path(
        "operations", create.operation_name, namespace=installation.namespaces.system
    )
    operation: dict[str, Any] = await installation.admin.get(path)
    return operation
