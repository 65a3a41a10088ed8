"""Operations and their units, as values."""

from typing import Any

import msgspec

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit

OPERATION_ID = "op-1"


def new_operation(*, stock_uid: str = "uid-of-warm", **status: Any) -> Operation:
    """Return an Operation that uses the stock unit `warm`."""
    spec = {
        "operationID": OPERATION_ID,
        "type": "CreateGPUUnit",
        "requestHash": "v1:h",
        "stock": {"name": "warm", "uid": stock_uid},
    }
    return msgspec.convert({"metadata": {}, "spec": spec, "status": status}, Operation)


def object_entry(uid: str, ordinal: int | None = None) -> dict[str, Any]:
    """Return an entry of an Operation's list of objects."""
    entry = {"kind": "GPUUnit", "namespace": "n", "name": "one", "uid": uid}
    return entry if ordinal is None else {**entry, "ordinal": ordinal}


def new_claimed_stock(operation_id: str = OPERATION_ID) -> GPUUnit:
    """Return the stock unit `warm`, claimed for the unit `one`."""
    annotations = {
        wellknown.CLAIM_OPERATION_ANNOTATION: operation_id,
        wellknown.CLAIMED_BY_ANNOTATION: "one",
    }
    labels = {wellknown.CLAIMED_LABEL: "true"}
    return new_unit("warm", namespace=STOCK_NAMESPACE, annotations=annotations, labels=labels)
