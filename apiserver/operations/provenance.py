"""Which request has made an object, as its annotations tell it."""

from apiserver.kube.resources import Object
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import OPERATION_ID, REQUEST_HASH


def provenance(record: Operation) -> dict[str, str]:
    """The annotations of what the operation makes."""
    return {OPERATION_ID: record.spec.operation_id, REQUEST_HASH: record.spec.request_hash}


def is_made_by(found: Object, record: Operation) -> bool:
    """Whether the operation has made it; after its retention an id may be used for another."""
    return provenance(record).items() <= found.metadata.annotations.items()
