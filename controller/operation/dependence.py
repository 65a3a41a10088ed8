"""Which units still ask a record what is to become of them."""

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit

SETTLED_ANNOTATIONS = (wellknown.ADMITTED_ANNOTATION, wellknown.LISTED_ANNOTATION)


def is_operation_referenced(unit: GPUUnit, operation_id: str) -> bool:
    """Whether the unit would be taken for a stray, or its claim for void, without the record."""
    notes = unit.metadata.annotations
    is_made = notes.get(wellknown.OPERATION_ID_ANNOTATION) == operation_id
    is_open = is_made and not any(mark in notes for mark in SETTLED_ANNOTATIONS)
    return is_open or notes.get(wellknown.CLAIM_OPERATION_ANNOTATION) == operation_id
