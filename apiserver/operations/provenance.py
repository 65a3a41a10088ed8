"""Annotations that name the operation that created an object."""

from apiserver.kube.resources import KubeObject
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import OPERATION_ID_ANNOTATION, REQUEST_HASH_ANNOTATION


def provenance_annotations(operation: Operation) -> dict[str, str]:
    """Return the annotations of an object that the operation creates."""
    return {
        OPERATION_ID_ANNOTATION: operation.spec.operation_id,
        REQUEST_HASH_ANNOTATION: operation.spec.request_hash,
    }


def is_created_by(obj: KubeObject, operation: Operation) -> bool:
    """Return whether the operation created the object; an id may be reused after its retention."""
    return provenance_annotations(operation).items() <= obj.metadata.annotations.items()
