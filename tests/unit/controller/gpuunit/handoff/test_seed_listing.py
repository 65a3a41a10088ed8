"""Tests of seed listing: a seeded stock unit counts once its operation lists it."""

import pytest

from controller.gpuunit.handoff.seed_listing import SeedListing, seed_listing
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit
from tests.support.builders.operations import OPERATION_ID, new_operation, object_entry

NOTES = {wellknown.OPERATION_ID_ANNOTATION: OPERATION_ID, wellknown.STOCK_ORDINAL_ANNOTATION: "2"}
SEEDED = new_unit("warm", namespace=STOCK_NAMESPACE, annotations=NOTES)
MINE, OTHER = object_entry("uid-of-warm", 2), object_entry("uid-of-other", 2)


@pytest.mark.parametrize(
    ("record", "listing"),
    [
        pytest.param(new_operation(), SeedListing.PENDING, id="nothing is listed"),
        pytest.param(
            new_operation(objects=[object_entry("u", 1)]), SeedListing.PENDING, id="others are"
        ),
        pytest.param(
            new_operation(objects=[object_entry("u", 1), MINE]), SeedListing.LISTED, id="it is"
        ),
        pytest.param(
            new_operation(phase="Succeeded", objects=[MINE]), SeedListing.LISTED, id="and closed"
        ),
        pytest.param(
            new_operation(phase="Failed", objects=[MINE]), SeedListing.LISTED, id="and failed"
        ),
        pytest.param(new_operation(objects=[OTHER]), SeedListing.STRAY, id="another has its place"),
        pytest.param(
            new_operation(objects=[object_entry("uid-of-warm", 1)]),
            SeedListing.PENDING,
            id="at another place",
        ),
        pytest.param(new_operation(phase="Succeeded"), SeedListing.STRAY, id="closed without it"),
        pytest.param(new_operation(phase="Failed"), SeedListing.STRAY, id="failed without it"),
        pytest.param(None, SeedListing.STRAY, id="no record"),
    ],
)
def test_the_operation_decides_whether_seeded_stock_is_listed(
    record: Operation | None, listing: SeedListing
) -> None:
    assert seed_listing(SEEDED, record) is listing


@pytest.mark.parametrize(
    "record", [None, new_operation(phase="Failed"), new_operation(objects=[OTHER])]
)
@pytest.mark.parametrize("notes", [{}, {**NOTES, wellknown.LISTED_ANNOTATION: "true"}])
def test_marked_or_manually_created_stock_is_not_checked_again(
    notes: dict[str, str], record: Operation | None
) -> None:
    assert seed_listing(new_unit("warm", annotations=notes), record) is SeedListing.MARKED
