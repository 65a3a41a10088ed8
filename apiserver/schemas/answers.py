"""The shapes that all answers share."""

from typing import Any

from marshmallow import Schema, fields, post_dump


class ViewSchema(Schema):
    """A view leaves out what is not known."""

    @post_dump
    def without_unknown(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop the fields that have no value."""
        return {name: value for name, value in data.items() if value is not None}


class ProblemSchema(Schema):
    """One problem of a request."""

    field = fields.String(required=True)
    message = fields.String(required=True)


class ErrorSchema(Schema):
    """What went wrong."""

    code = fields.String(required=True)
    message = fields.String(required=True)
    details = fields.List(fields.Nested(ProblemSchema))


class FailureSchema(Schema):
    """The envelope of every failure."""

    error = fields.Nested(ErrorSchema, required=True)
