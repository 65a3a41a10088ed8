"""A unit from stock may start only where its operation's record holds it, or still may."""

import msgspec
import pytest

from controller.gpuunit.handoff.handoff_check import (
    Entry,
    Source,
    is_admitted,
    is_held_for,
    judge,
    recorded_uid,
    source_of,
)
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import a_unit
from tests.support.builders.operations import OPERATION, a_record, claimed_stock, made

SOURCE = Source("warm", "uid-of-warm", OPERATION)
UNIT = a_unit("one")
HELD = claimed_stock()


def going(stock: GPUUnit) -> GPUUnit:
    meta = msgspec.structs.replace(stock.metadata, deletion_timestamp="now")
    return msgspec.structs.replace(stock, metadata=meta)


@pytest.mark.parametrize(
    ("record", "stock", "entry"),
    [
        pytest.param(a_record(), HELD, Entry.ELIGIBLE, id="open"),
        pytest.param(a_record(phase="Running"), HELD, Entry.ELIGIBLE, id="running"),
        pytest.param(
            a_record(phase="Succeeded", objects=[made("uid-of-one")]),
            HELD,
            Entry.ADMITTED,
            id="closed with it",
        ),
        pytest.param(None, HELD, Entry.STRAY, id="no record"),
        pytest.param(a_record(phase="Failed"), HELD, Entry.STRAY, id="failed"),
        pytest.param(a_record(stock_uid="other"), HELD, Entry.STRAY, id="other stock"),
        pytest.param(
            a_record(phase="Succeeded", objects=[made("uid-of-other")]),
            HELD,
            Entry.STRAY,
            id="closed with another",
        ),
        pytest.param(a_record(phase="Succeeded"), HELD, Entry.STRAY, id="closed with none"),
        pytest.param(a_record(), None, Entry.LOST, id="no stock"),
        pytest.param(a_record(), going(HELD), Entry.LOST, id="stock that goes"),
        pytest.param(a_record(), claimed_stock("op-2"), Entry.LOST, id="another's stock"),
    ],
)
def test_the_record_decides(record: Operation | None, stock: GPUUnit | None, entry: Entry) -> None:
    assert judge(UNIT, SOURCE, record, stock).entry is entry


def test_a_refusal_tells_why() -> None:
    assert judge(UNIT, SOURCE, None, HELD).why == "there is no record of operation 'op-1'"
    assert judge(UNIT, SOURCE, a_record(), None).why == (
        "stock warm is no longer there for this unit"
    )


def test_a_unit_made_by_hand_has_no_source() -> None:
    assert source_of(UNIT) is None


def test_the_source_is_in_the_annotations() -> None:
    notes = {
        wellknown.SOURCE_STOCK_NAME: "warm",
        wellknown.SOURCE_STOCK_UID: "uid-of-warm",
        wellknown.OPERATION_ID: OPERATION,
    }
    assert source_of(a_unit(annotations=notes)) == SOURCE


def test_a_source_without_a_name_or_an_operation_is_one_that_no_record_knows() -> None:
    assert source_of(a_unit(annotations={wellknown.SOURCE_STOCK_UID: "u"})) == Source("", "u", "")


def test_a_unit_is_admitted_once_it_is_marked_also_without_a_node() -> None:
    assert is_admitted(a_unit(annotations={wellknown.ADMITTED: ""}))
    assert not is_admitted(UNIT)


def test_an_open_record_holds_nobody() -> None:
    assert recorded_uid(a_record(phase="Running", objects=[made("early")])) is None


def test_stock_of_the_same_name_with_another_uid_is_not_the_source() -> None:
    assert not is_held_for(HELD, Source("warm", "earlier", OPERATION))
