"""What a schema has against a body."""

from typing import Any

import pytest
from marshmallow import ValidationError

from apiserver.schemas.request import RequestSchema, details_of


def problems(schema: RequestSchema[Any], body: object) -> dict[str, str]:
    """Every problem by field; one a field."""
    with pytest.raises(ValidationError) as caught:
        schema.read(body)
    found = details_of(caught.value)
    assert len({each.field for each in found}) == len(found)
    return {each.field: each.message for each in found}
