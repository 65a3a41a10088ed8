"""A stock unit as an operation seeds it."""

from typing import Any

import msgspec

from apiserver.operations.provenance import provenance
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.unit_resources import Envelope


def stock_body(record: Operation, ordinal: int, envelope: Envelope) -> dict[str, Any]:
    """Its name follows from the operation and the ordinal, so that nobody makes it twice."""
    operation_id = record.spec.operation_id
    metadata = {
        "name": names.stock_unit(operation_id, ordinal),
        "labels": {
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
            wellknown.OPERATION_LABEL: names.label_hash(operation_id),
        },
        "annotations": {**provenance(record), wellknown.STOCK_ORDINAL: str(ordinal)},
    }
    return {"metadata": metadata, "spec": msgspec.to_builtins(envelope)}
