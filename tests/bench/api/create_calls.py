"""Creates over HTTP, and the writes of a create without the API: what no API can do without."""

from typing import Any

import msgspec

from apiserver.commands import CreateUnit
from apiserver.operations.store import new_record
from apiserver.units.create import reference, succeeded
from apiserver.units.manifest import unit_body
from apiserver.units.schemas import CreateUnitSchema
from hack.local.account_kubeconfigs import NAMESPACE as SYSTEM
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import gpuunit, operation, wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import API_VERSION, GROUP, VERSION
from tests.bench.api.api_cluster import Api
from tests.bench.api.ready_stock import SINCE, SPEC_NAME, units_path
from tests.bench.connection import Connection
from tests.bench.controller.unit_load import STOCK

OPERATIONS = f"/apis/{GROUP}/{VERSION}/namespaces/{SYSTEM}/{operation.PLURAL}"
INSTANCE = "runtime-instance"
CREATES = "/api/v1/gpu-units"
MADE = 201


class NotMadeError(Exception):
    """The API answered a create with something else than a new unit."""


class Stored(msgspec.Struct):
    """As much of a stored object as the next write needs."""

    metadata: ObjectMeta


def request(name: str) -> dict[str, Any]:
    """The body of a create, such as a product would send."""
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


async def created(api: Api, name: str) -> str:
    """Make a unit of any stock; the name of the stock that it took."""
    async with api.session.post(CREATES, json=request(name)) as response:
        body = await response.read()
    if response.status != MADE:
        raise NotMadeError(f"{response.status}: {body.decode()}")
    return str(msgspec.json.decode(body)["data"]["sourceStockName"])


async def bare_writes(bare: Connection, name: str, stock: GPUUnit) -> None:
    """The four writes of a create, one after the other: record, claim, unit, outcome."""
    command = CreateUnitSchema().read(request(name))
    record = typed(operation.KIND, new_record(command, "bench", reference(stock), None))
    await bare.create(OPERATIONS, record)
    await bare.patch(f"{units_path(STOCK)}/{stock.metadata.name}", claim(command, stock))
    body = typed(gpuunit.KIND, unit_body(command, stock))
    unit = msgspec.json.decode(await bare.create(units_path(INSTANCE), body), type=GPUUnit)
    place = f"{OPERATIONS}/{record['metadata']['name']}/status"
    await bare.patch(place, {"status": succeeded(unit)})


def claim(command: CreateUnit, stock: GPUUnit) -> dict[str, Any]:
    mark = {
        wellknown.CLAIMED_BY: command.name,
        wellknown.CLAIM_OPERATION: command.operation_id,
        wellknown.ATTEMPT: "0",
        wellknown.CLAIMED_AT: SINCE,
    }
    meta = stock.metadata
    condition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    labels = {wellknown.CLAIMED_LABEL: "true"}
    return {"metadata": {**condition, "labels": labels, "annotations": mark}}


def typed(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, **body}
