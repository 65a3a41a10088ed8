"""Which units need the record of an operation."""

import pytest

from controller.operation.dependence import is_operation_referenced
from shared.v1alpha1 import wellknown
from tests.support.builders.gpu_units import new_unit

MADE = {wellknown.OPERATION_ID_ANNOTATION: "o"}


@pytest.mark.parametrize(
    ("notes", "needed"),
    [
        pytest.param({}, False, id="made by hand"),
        pytest.param(
            {wellknown.OPERATION_ID_ANNOTATION: "another"}, False, id="of another operation"
        ),
        pytest.param(MADE, True, id="neither admitted nor listed"),
        pytest.param({**MADE, wellknown.ADMITTED_ANNOTATION: ""}, False, id="admitted"),
        pytest.param({**MADE, wellknown.LISTED_ANNOTATION: "true"}, False, id="listed"),
        pytest.param({wellknown.CLAIM_OPERATION_ANNOTATION: "o"}, True, id="claimed by it"),
        pytest.param(
            {wellknown.CLAIM_OPERATION_ANNOTATION: "another"}, False, id="claimed by another"
        ),
        pytest.param(
            {
                **MADE,
                wellknown.LISTED_ANNOTATION: "true",
                wellknown.CLAIM_OPERATION_ANNOTATION: "another",
            },
            False,
            id="listed and claimed by another",
        ),
    ],
)
def test_a_unit_needs_the_operation_that_decides_about_it(
    notes: dict[str, str], needed: bool
) -> None:
    assert is_operation_referenced(new_unit(annotations=notes), "o") is needed
