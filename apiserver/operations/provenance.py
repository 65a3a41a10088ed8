"""Which request has made an object, as its annotations tell it."""

from apiserver.kube.resources import KubeObject
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION, REQUEST_HASH_ANNOTATION


def provenance_annotations(operation: Operation) -> dict[str, str]:
    """The annotations of what the operation makes."""
    return {
        OPERATION_ID_ANNOTATION: operation.spec.operation_id,
        REQUEST_HASH_ANNOTATION: operation.spec.request_hash,
    }


def is_created_by(obj: KubeObject, operation: Operation) -> bool:
    """Whether the operation has made it; after its retention an id may be used for another."""
    return provenance_annotations(operation).items() <= obj.metadata.annotations.items()
