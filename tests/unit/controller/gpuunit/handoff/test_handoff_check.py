"""Tests of the hand-off check: a unit starts only while its operation has or can get its stock."""

import msgspec
import pytest

from controller.gpuunit.handoff.handoff_check import (
    HandoffDecision,
    check_handoff,
    created_unit_uid,
    is_admitted,
)
from controller.gpuunit.source_stock import SourceStock
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.operations import (
    OPERATION_ID,
    new_claimed_stock,
    new_operation,
    object_entry,
)

SOURCE = SourceStock("warm", "uid-of-warm", OPERATION_ID)
UNIT = new_unit("one")
CLAIMED = new_claimed_stock()


def terminating(stock: GPUUnit) -> GPUUnit:
    meta = msgspec.structs.replace(stock.metadata, deletion_timestamp="now")
    return msgspec.structs.replace(stock, metadata=meta)


@pytest.mark.parametrize(
    ("operation", "stock", "decision"),
    [
        pytest.param(new_operation(), CLAIMED, HandoffDecision.ELIGIBLE, id="open"),
        pytest.param(
            new_operation(phase="Running"), CLAIMED, HandoffDecision.ELIGIBLE, id="running"
        ),
        pytest.param(
            new_operation(phase="Succeeded", objects=[object_entry("uid-of-one")]),
            CLAIMED,
            HandoffDecision.ADMITTED,
            id="closed with it",
        ),
        pytest.param(None, CLAIMED, HandoffDecision.STRAY, id="no operation"),
        pytest.param(new_operation(phase="Failed"), CLAIMED, HandoffDecision.STRAY, id="failed"),
        pytest.param(
            new_operation(stock_uid="other"), CLAIMED, HandoffDecision.STRAY, id="other stock"
        ),
        pytest.param(
            new_operation(phase="Succeeded", objects=[object_entry("uid-of-other")]),
            CLAIMED,
            HandoffDecision.STRAY,
            id="closed with another",
        ),
        pytest.param(
            new_operation(phase="Succeeded"),
            CLAIMED,
            HandoffDecision.STRAY,
            id="closed with none",
        ),
        pytest.param(new_operation(), None, HandoffDecision.STOCK_LOST, id="no stock"),
        pytest.param(
            new_operation(),
            terminating(CLAIMED),
            HandoffDecision.STOCK_LOST,
            id="stock that is being deleted",
        ),
        pytest.param(
            new_operation(),
            new_claimed_stock("op-2"),
            HandoffDecision.STOCK_LOST,
            id="stock of another operation",
        ),
    ],
)
def test_the_operation_decides_whether_a_unit_is_admitted(
    operation: Operation | None, stock: GPUUnit | None, decision: HandoffDecision
) -> None:
    assert check_handoff(UNIT, SOURCE, operation, stock).decision is decision


def test_a_rejected_unit_has_a_reason() -> None:
    assert check_handoff(UNIT, SOURCE, None, CLAIMED).message == "operation 'op-1' does not exist"
    assert check_handoff(UNIT, SOURCE, new_operation(), None).message == (
        "stock unit warm was deleted or is claimed by another operation"
    )


def test_a_unit_is_admitted_once_it_is_marked_also_without_a_node() -> None:
    assert is_admitted(new_unit(annotations={wellknown.ADMITTED_ANNOTATION: ""}))
    assert not is_admitted(UNIT)


def test_an_unfinished_operation_names_no_unit() -> None:
    assert created_unit_uid(new_operation(phase="Running", objects=[object_entry("early")])) is None
