"""Records of operations and the units that they tell of, as values."""

from typing import Any

import msgspec

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import STOCK, a_unit

OPERATION = "op-1"


def a_record(*, stock_uid: str = "uid-of-warm", **status: Any) -> Operation:
    """The record of an operation that wants the stock `warm`."""
    spec = {
        "operationID": OPERATION,
        "type": "CreateGPUUnit",
        "requestHash": "v1:h",
        "stock": {"name": "warm", "uid": stock_uid},
    }
    return msgspec.convert({"metadata": {}, "spec": spec, "status": status}, Operation)


def made(uid: str, ordinal: int | None = None) -> dict[str, Any]:
    """An entry of a record's list of objects."""
    where = {"kind": "GPUUnit", "namespace": "n", "name": "one", "uid": uid}
    return where if ordinal is None else {**where, "ordinal": ordinal}


def claimed_stock(operation_id: str = OPERATION) -> GPUUnit:
    """The stock `warm`, claimed for the unit `one`."""
    notes = {wellknown.CLAIM_OPERATION: operation_id, wellknown.CLAIMED_BY: "one"}
    labels = {wellknown.CLAIMED_LABEL: "true"}
    return a_unit("warm", namespace=STOCK, annotations=notes, labels=labels)
