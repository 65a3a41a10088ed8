"""Which units need the record of an operation."""

import pytest

from controller.operation.dependence import depends
from shared.v1alpha1 import wellknown
from tests.support.builders.gpu_units import a_unit

MADE = {wellknown.OPERATION_ID: "o"}


@pytest.mark.parametrize(
    ("notes", "needed"),
    [
        pytest.param({}, False, id="made by hand"),
        pytest.param({wellknown.OPERATION_ID: "another"}, False, id="of another operation"),
        pytest.param(MADE, True, id="neither admitted nor listed"),
        pytest.param({**MADE, wellknown.ADMITTED: ""}, False, id="admitted"),
        pytest.param({**MADE, wellknown.LISTED: "true"}, False, id="listed"),
        pytest.param({wellknown.CLAIM_OPERATION: "o"}, True, id="claimed by it"),
        pytest.param({wellknown.CLAIM_OPERATION: "another"}, False, id="claimed by another"),
        pytest.param(
            {**MADE, wellknown.LISTED: "true", wellknown.CLAIM_OPERATION: "another"},
            False,
            id="listed and claimed by another",
        ),
    ],
)
def test_a_unit_needs_the_record_that_decides_on_it(notes: dict[str, str], needed: bool) -> None:
    assert depends(a_unit(annotations=notes), "o") is needed
