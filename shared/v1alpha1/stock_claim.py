"""The stock claim: a label and annotations by which an operation holds a stock unit."""

from typing import Any, Final, Protocol

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import (
    ATTEMPT_ANNOTATION,
    CLAIM_OPERATION_ANNOTATION,
    CLAIMED_AT_ANNOTATION,
    CLAIMED_BY_ANNOTATION,
    CLAIMED_LABEL,
)

CLAIM_ANNOTATIONS: Final = (
    CLAIMED_BY_ANNOTATION,
    CLAIM_OPERATION_ANNOTATION,
    CLAIMED_AT_ANNOTATION,
    ATTEMPT_ANNOTATION,
)


class StockObject(Protocol):
    """The part of a stock unit that stock claims use."""

    @property
    def metadata(self) -> ObjectMeta:
        """Return the labels and annotations of the unit."""
        ...


def is_claimed(stock: StockObject) -> bool:
    """Return whether the label or the annotation of a stock claim is set.

    One of the two is enough: the controller releases such a claim before others may use the unit.
    """
    meta = stock.metadata
    return CLAIMED_LABEL in meta.labels or CLAIM_OPERATION_ANNOTATION in meta.annotations


def claiming_operation_id(stock: StockObject) -> str:
    """Return the id of the operation that has claimed the stock unit; empty if none is set."""
    return stock.metadata.annotations.get(CLAIM_OPERATION_ANNOTATION, "")


def claiming_attempt(stock: StockObject) -> str:
    """Return the attempt of the operation that has claimed the stock unit; empty if none is set."""
    return stock.metadata.annotations.get(ATTEMPT_ANNOTATION, "")


def claiming_unit_name(stock: StockObject) -> str | None:
    """Return the name of the unit for which the stock unit is claimed; None if it is not."""
    return stock.metadata.annotations.get(CLAIMED_BY_ANNOTATION, "") if is_claimed(stock) else None


def claim_metadata(
    unit_name: str, operation_id: str, attempt: str, claimed_at: str
) -> dict[str, Any]:
    """Return the label and the annotations that claim a stock unit."""
    return {
        "labels": {CLAIMED_LABEL: "true"},
        "annotations": {
            CLAIMED_BY_ANNOTATION: unit_name,
            CLAIM_OPERATION_ANNOTATION: operation_id,
            ATTEMPT_ANNOTATION: attempt,
            CLAIMED_AT_ANNOTATION: claimed_at,
        },
    }


def released_metadata() -> dict[str, Any]:
    """Return the merge patch of the metadata that removes a stock claim."""
    return {"labels": {CLAIMED_LABEL: None}, "annotations": dict.fromkeys(CLAIM_ANNOTATIONS)}
