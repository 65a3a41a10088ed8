"""Tests of the source stock of a unit, which is in the unit's annotations."""

from controller.gpuunit.source_stock import SourceStock, is_claimed_for, source_stock_of
from shared.v1alpha1 import wellknown
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.operations import OPERATION_ID, new_claimed_stock

SOURCE = SourceStock("warm", "uid-of-warm", OPERATION_ID)


def test_a_manually_created_unit_has_no_source_stock() -> None:
    assert source_stock_of(new_unit("one")) is None


def test_the_source_stock_is_read_from_the_annotations() -> None:
    annotations = {
        wellknown.SOURCE_STOCK_NAME_ANNOTATION: "warm",
        wellknown.SOURCE_STOCK_UID_ANNOTATION: "uid-of-warm",
        wellknown.OPERATION_ID_ANNOTATION: OPERATION_ID,
    }
    assert source_stock_of(new_unit(annotations=annotations)) == SOURCE


def test_an_incomplete_source_annotation_matches_no_operation() -> None:
    assert source_stock_of(
        new_unit(annotations={wellknown.SOURCE_STOCK_UID_ANNOTATION: "u"})
    ) == SourceStock("", "u", "")


def test_stock_of_the_same_name_with_another_uid_is_not_the_source() -> None:
    assert not is_claimed_for(new_claimed_stock(), SourceStock("warm", "earlier", OPERATION_ID))
