"""Tests of seed listing: a seeded stock unit counts once its operation lists it."""

import pytest

from controller.gpuunit.handoff.seed_listing import SeedListing, seed_listing
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit
from tests.support.builders.operations import OPERATION_ID, new_operation, object_entry

ANNOTATIONS = {
    wellknown.OPERATION_ID_ANNOTATION: OPERATION_ID,
    wellknown.STOCK_ORDINAL_ANNOTATION: "2",
}
SEEDED = new_unit("warm", namespace=STOCK_NAMESPACE, annotations=ANNOTATIONS)
OWN, OTHER = object_entry("uid-of-warm", 2), object_entry("uid-of-other", 2)


@pytest.mark.parametrize(
    ("operation", "listing"),
    [
        pytest.param(new_operation(), SeedListing.PENDING, id="lists no unit"),
        pytest.param(
            new_operation(objects=[object_entry("u", 1)]),
            SeedListing.PENDING,
            id="lists other units",
        ),
        pytest.param(
            new_operation(objects=[object_entry("u", 1), OWN]),
            SeedListing.LISTED,
            id="lists the unit",
        ),
        pytest.param(
            new_operation(phase="Succeeded", objects=[OWN]),
            SeedListing.LISTED,
            id="lists the unit and succeeded",
        ),
        pytest.param(
            new_operation(phase="Failed", objects=[OWN]),
            SeedListing.LISTED,
            id="lists the unit and failed",
        ),
        pytest.param(
            new_operation(objects=[OTHER]),
            SeedListing.STRAY,
            id="lists another unit for the ordinal",
        ),
        pytest.param(
            new_operation(objects=[object_entry("uid-of-warm", 1)]),
            SeedListing.PENDING,
            id="lists the unit for another ordinal",
        ),
        pytest.param(new_operation(phase="Succeeded"), SeedListing.STRAY, id="closed without it"),
        pytest.param(new_operation(phase="Failed"), SeedListing.STRAY, id="failed without it"),
        pytest.param(None, SeedListing.STRAY, id="no operation"),
    ],
)
def test_the_operation_decides_whether_seeded_stock_is_listed(
    operation: Operation | None, listing: SeedListing
) -> None:
    assert seed_listing(SEEDED, operation) is listing


@pytest.mark.parametrize(
    "operation", [None, new_operation(phase="Failed"), new_operation(objects=[OTHER])]
)
@pytest.mark.parametrize("annotations", [{}, {**ANNOTATIONS, wellknown.LISTED_ANNOTATION: "true"}])
def test_marked_or_manually_created_stock_is_not_checked_again(
    annotations: dict[str, str], operation: Operation | None
) -> None:
    assert seed_listing(new_unit("warm", annotations=annotations), operation) is SeedListing.MARKED
