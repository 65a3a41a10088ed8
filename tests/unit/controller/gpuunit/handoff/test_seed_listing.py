"""A seeded stock unit counts once its operation's record lists it."""

import pytest

from controller.gpuunit.handoff.seed_listing import Listing, judge
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import STOCK, a_unit
from tests.support.builders.operations import OPERATION, a_record, made

NOTES = {wellknown.OPERATION_ID: OPERATION, wellknown.STOCK_ORDINAL: "2"}
SEEDED = a_unit("warm", namespace=STOCK, annotations=NOTES)
MINE, OTHER = made("uid-of-warm", 2), made("uid-of-other", 2)


@pytest.mark.parametrize(
    ("record", "listing"),
    [
        pytest.param(a_record(), Listing.OPEN, id="nothing is listed"),
        pytest.param(a_record(objects=[made("u", 1)]), Listing.OPEN, id="others are"),
        pytest.param(a_record(objects=[made("u", 1), MINE]), Listing.LISTED, id="it is"),
        pytest.param(a_record(phase="Succeeded", objects=[MINE]), Listing.LISTED, id="and closed"),
        pytest.param(a_record(phase="Failed", objects=[MINE]), Listing.LISTED, id="and failed"),
        pytest.param(a_record(objects=[OTHER]), Listing.STRAY, id="another has its place"),
        pytest.param(
            a_record(objects=[made("uid-of-warm", 1)]), Listing.OPEN, id="at another place"
        ),
        pytest.param(a_record(phase="Succeeded"), Listing.STRAY, id="closed without it"),
        pytest.param(a_record(phase="Failed"), Listing.STRAY, id="failed without it"),
        pytest.param(None, Listing.STRAY, id="no record"),
    ],
)
def test_the_record_decides(record: Operation | None, listing: Listing) -> None:
    assert judge(SEEDED, record) is listing


@pytest.mark.parametrize("record", [None, a_record(phase="Failed"), a_record(objects=[OTHER])])
@pytest.mark.parametrize("notes", [{}, {**NOTES, wellknown.LISTED: "true"}])
def test_nobody_asks_again_about_stock_that_is_marked_or_made_by_hand(
    notes: dict[str, str], record: Operation | None
) -> None:
    assert judge(a_unit("warm", annotations=notes), record) is Listing.MARKED
