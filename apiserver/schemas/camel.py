"""Schemas whose fields are written in camelCase on the wire."""

from typing import Any

from marshmallow import Schema, fields


class CamelSchema(Schema):
    """`spec_name` is `specName` there, unless the field says otherwise."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Name the field as the wire does."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


def camel_case(name: str) -> str:
    """`spec_name` as `specName`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
