"""Schemas that all responses share."""

from typing import Any

from marshmallow import Schema, fields, post_dump

from apiserver.schemas.request import CamelSchema, drop_empty


class ViewSchema(Schema):
    """A view without the fields that are None."""

    @post_dump
    def drop_none(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop the fields that have no value."""
        return {name: value for name, value in data.items() if value is not None}


class ObjectViewSchema(CamelSchema):
    """A view of an object without its empty fields."""

    @post_dump
    def drop_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop the fields that have no value."""
        return drop_empty(data)


class PageMetaSchema(ViewSchema):
    """The metadata of a page."""

    continue_token = fields.String(
        data_key="continue",
        metadata={"description": "The `continue` parameter for the next page; none at the end."},
    )
    remaining = fields.Integer(
        metadata={"description": "The number of objects after this page, if it is known."}
    )

    @post_dump
    def drop_empty_token(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Drop the token at the end of a list."""
        return {name: value for name, value in data.items() if value != ""}


class DeletedSchema(CamelSchema):
    """An object that an operation created and that was deleted later."""

    name = fields.String(required=True)
    namespace = fields.String(required=True)
    uid = fields.String(required=True)
    operation_id = fields.String(data_key="operationID", required=True)
    deleted = fields.Constant(True)


class ProblemSchema(Schema):
    """One problem of a request."""

    field = fields.String(required=True)
    message = fields.String(required=True)


class ErrorSchema(Schema):
    """The error of a failed request."""

    code = fields.String(required=True)
    message = fields.String(required=True)
    details = fields.List(fields.Nested(ProblemSchema))


class FailureSchema(Schema):
    """The envelope of every failure."""

    error = fields.Nested(ErrorSchema, required=True)
