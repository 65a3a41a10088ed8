"""Creates over HTTP, and the same writes without the API."""

from typing import Any

import msgspec

from apiserver.operations.store import operation_manifest
from apiserver.units.commands import CreateUnit
from apiserver.units.create import stock_ref_of
from apiserver.units.manifest import unit_manifest
from apiserver.units.schemas import CreateUnitSchema
from hack.local.account_kubeconfigs import NAMESPACE as SYSTEM
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import gpuunit, operation, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import API_VERSION, GROUP, VERSION
from shared.v1alpha1.operation import succeeded_status
from tests.bench.api.api_cluster import ApiProcess
from tests.bench.api.ready_stock import SPEC_NAME, TIMESTAMP, units_path
from tests.bench.connection import Connection
from tests.bench.controller.unit_load import STOCK_NAMESPACE

OPERATIONS = f"/apis/{GROUP}/{VERSION}/namespaces/{SYSTEM}/{operation.PLURAL}"
INSTANCE = "runtime-instance"
GPU_UNITS_PATH = "/api/v1/gpu-units"
CREATED_STATUS = 201


class CreateFailedError(Exception):
    """The API did not respond to a create with a new unit."""


class StoredObject(msgspec.Struct):
    """The fields of a stored object that the next write needs."""

    metadata: ObjectMeta


def create_request(name: str) -> dict[str, Any]:
    """Return the body of a typical create."""
    return {
        "operationID": f"order-{name}",
        "name": name,
        "specName": SPEC_NAME,
        "image": "registry.local/team/worker:1.0.0",
        "template": {
            "args": ["--serve", "--port=8080"],
            "envs": [{"name": "MODEL", "value": "small"}, {"name": "LOG_LEVEL", "value": "info"}],
            "ports": [{"name": "http", "port": 8080}],
        },
        "labels": {"tenant": "blue"},
    }


async def create_unit(api: ApiProcess, name: str) -> str:
    """Create a unit, and return the name of the stock that it used."""
    async with api.session.post(GPU_UNITS_PATH, json=create_request(name)) as response:
        body = await response.read()
    if response.status != CREATED_STATUS:
        raise CreateFailedError(f"{response.status}: {body.decode()}")
    return str(msgspec.json.decode(body)["data"]["sourceStockName"])


async def write_create_directly(connection: Connection, name: str, stock: GPUUnit) -> None:
    """Do the four writes of a create one by one: Operation, stock claim, unit, status."""
    command = CreateUnitSchema().parse(create_request(name))
    operation_body = with_type(
        operation.KIND, operation_manifest(command, "bench", stock_ref_of(stock), None)
    )
    await connection.create(OPERATIONS, operation_body)
    await connection.patch(
        f"{units_path(STOCK_NAMESPACE)}/{stock.metadata.name}", claim_patch(command, stock)
    )
    body = with_type(gpuunit.KIND, unit_manifest(command, stock))
    unit = msgspec.json.decode(await connection.create(units_path(INSTANCE), body), type=GPUUnit)
    status_path = f"{OPERATIONS}/{operation_body['metadata']['name']}/status"
    await connection.patch(status_path, {"status": succeeded_status(gpuunit.KIND, unit.metadata)})


def claim_patch(command: CreateUnit, stock: GPUUnit) -> dict[str, Any]:
    annotations = {
        wellknown.CLAIMED_BY_ANNOTATION: command.name,
        wellknown.CLAIM_OPERATION_ANNOTATION: command.operation_id,
        wellknown.ATTEMPT_ANNOTATION: "0",
        wellknown.CLAIMED_AT_ANNOTATION: TIMESTAMP,
    }
    meta = stock.metadata
    preconditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    labels = {wellknown.CLAIMED_LABEL: "true"}
    return {"metadata": {**preconditions, "labels": labels, "annotations": annotations}}


def with_type(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, **body}
