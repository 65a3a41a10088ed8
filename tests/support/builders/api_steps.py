"""The runtime API's part of a hand-off, played by hand: records, claims and units."""

import secrets
from dataclasses import dataclass, replace
from typing import Any

from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.group import GROUP, VERSION
from tests.support.cluster.isolated_installation import Site, a_unit

NOW = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Order:
    """One user's wish for a unit, made from one stock unit."""

    unit: str
    operation_id: str
    stock: dict[str, Any]

    @property
    def stock_name(self) -> str:
        return str(self.stock["metadata"]["name"])

    @property
    def stock_uid(self) -> str:
        return str(self.stock["metadata"]["uid"])

    @property
    def record_name(self) -> str:
        return names.operation(self.operation_id)


def an_order(unit: str, stock: dict[str, Any]) -> Order:
    return Order(unit, f"create {unit}", stock)


async def one_order(site: Site) -> Order:
    """One ready stock unit, and somebody who wants it."""
    made = await site.create("gpuunits", a_unit("stock-0"), namespace=site.namespaces.stock)
    name = made["metadata"]["name"]
    stock = await site.unit_with(name, "StockReady", namespace=site.namespaces.stock)
    return an_order("mine", stock)


async def record(site: Site, order: Order, **spec: Any) -> dict[str, Any]:
    """The durable record, with the stock named in it."""
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Operation",
        "metadata": {"name": order.record_name},
        "spec": {
            "operationID": order.operation_id,
            "type": "CreateGPUUnit",
            "requestHash": "v1:test",
            "request": {"name": order.unit},
            "stock": {"name": order.stock_name, "uid": order.stock_uid},
            **spec,
        },
    }
    made: dict[str, Any] = await site.create("operations", body, namespace=site.namespaces.system)
    return made


async def close(site: Site, order: Order, status: dict[str, Any]) -> None:
    """Write the status of the record."""
    path = site.path("operations", order.record_name, namespace=site.namespaces.system)
    await site.admin.patch(f"{path}/status", {"status": status})


async def claim(site: Site, order: Order) -> None:
    """Mark the stock in one write, which also takes it from its pool."""
    metadata = {
        "labels": {wellknown.CLAIMED_LABEL: "true"},
        "annotations": {
            wellknown.CLAIMED_BY: order.unit,
            wellknown.CLAIM_OPERATION: order.operation_id,
            wellknown.CLAIMED_AT: NOW,
        },
        "ownerReferences": [],
    }
    path = site.path("gpuunits", order.stock_name, namespace=site.namespaces.stock)
    await site.admin.patch(path, {"metadata": metadata})


def the_unit(order: Order, **spec: Any) -> dict[str, Any]:
    """The user's unit, with where it came from in its annotations."""
    body = a_unit(order.unit, **{"image": "example/image:1", **spec})
    body["metadata"]["annotations"] = {
        wellknown.OPERATION_ID: order.operation_id,
        wellknown.SOURCE_STOCK_NAME: order.stock_name,
        wellknown.SOURCE_STOCK_UID: order.stock_uid,
    }
    return body


async def place(site: Site, order: Order, **spec: Any) -> dict[str, Any]:
    """All steps of the API but the last, which the controller does as well: closing the record."""
    await record(site, order)
    await claim(site, order)
    made: dict[str, Any] = await site.create("gpuunits", the_unit(order, **spec))
    return made


async def sweep_comes_by(site: Site, order: Order) -> None:
    """Wait until a record that nobody needs, and that is younger than the order's, is swept."""
    needless = replace(order, operation_id=secrets.token_hex(4))
    await record(site, needless)
    await close(site, needless, {"phase": "Failed"})
    await site.gone("operations", needless.record_name, namespace=site.namespaces.system)


async def recorded(site: Site, order: Order) -> dict[str, Any]:
    """The record as it is now."""
    path = site.path("operations", order.record_name, namespace=site.namespaces.system)
    found: dict[str, Any] = await site.admin.get(path)
    return found
