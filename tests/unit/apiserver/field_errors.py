"""Errors that a schema reports for a body."""

from typing import Any

import pytest
from marshmallow import ValidationError

from apiserver.schemas.request import RequestSchema, error_details


def field_errors(schema: RequestSchema[Any], body: object) -> dict[str, str]:
    """Return the errors by field, one error per field."""
    with pytest.raises(ValidationError) as caught:
        schema.parse(body)
    details = error_details(caught.value)
    assert len({detail.field for detail in details}) == len(details)
    return {detail.field: detail.message for detail in details}
