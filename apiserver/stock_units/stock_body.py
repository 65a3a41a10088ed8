"""A stock unit as an operation seeds it."""

from typing import Any

import msgspec

from apiserver.operations.provenance import provenance_annotations
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.unit_resources import UnitResources


def stock_unit_manifest(
    operation: Operation, ordinal: int, resources: UnitResources
) -> dict[str, Any]:
    """Its name follows from the operation and the ordinal, so that nobody makes it twice."""
    operation_id = operation.spec.operation_id
    metadata = {
        "name": names.stock_unit_name(operation_id, ordinal),
        "labels": {
            wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
            wellknown.OPERATION_LABEL: names.label_hash(operation_id),
        },
        "annotations": {
            **provenance_annotations(operation),
            wellknown.STOCK_ORDINAL_ANNOTATION: str(ordinal),
        },
    }
    return {"metadata": metadata, "spec": msgspec.to_builtins(resources)}
