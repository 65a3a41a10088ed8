"""Structural OpenAPI schemas of models, for CustomResourceDefinitions."""

from typing import Any

from msgspec import inspect

from hack.generate.crd_rules import CEL_RULES, LIST_MAP_KEYS, SET_FIELDS

Schema = dict[str, Any]


def schema_of_type(hint: Any, *, with_defaults: bool) -> Schema:
    """Return the schema of a model's field; `with_defaults` is for specs, not for statuses."""
    return _type_schema(inspect.type_info(hint), with_defaults)


def _struct_schema(struct: inspect.StructType, with_defaults: bool) -> Schema:
    required = [field.encode_name for field in struct.fields if field.required]
    rules = [{"rule": rule, "message": message} for rule, message in CEL_RULES.get(struct.cls, ())]
    return {
        "type": "object",
        "description": struct.cls.__doc__,
        **({"required": required} if required else {}),
        "properties": {
            field.encode_name: _field_schema(field, with_defaults) for field in struct.fields
        },
        **({"x-kubernetes-validations": rules} if rules else {}),
    }


def _field_schema(field: inspect.Field, with_defaults: bool) -> Schema:
    schema = _type_schema(field.type, with_defaults)
    if schema["type"] == "array":
        schema |= _list_type(field)
    if with_defaults and _is_written_default(field.default):
        schema["default"] = field.default
    return schema


def _is_written_default(default: object) -> bool:
    """Return whether objects contain the default: a number, or a text that is not empty."""
    return type(default) is int or (isinstance(default, str) and default != "")


def _list_type(field: inspect.Field) -> Schema:
    list_type = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
    item = list_type.item_type if isinstance(list_type, inspect.VarTupleType) else None
    if isinstance(item, inspect.StructType) and item.cls in LIST_MAP_KEYS:
        keys = [LIST_MAP_KEYS[item.cls]]
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    return {"x-kubernetes-list-type": "set" if field.encode_name in SET_FIELDS else "atomic"}


def _type_schema(type_info: inspect.Type, with_defaults: bool) -> Schema:
    match type_info:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return {**_type_schema(inner, with_defaults), **(extra or {})}
        case inspect.UnionType(types=types):
            [inner] = [member for member in types if not isinstance(member, inspect.NoneType)]
            return _type_schema(inner, with_defaults)
        case inspect.StructType():
            return _struct_schema(type_info, with_defaults)
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _type_schema(item, with_defaults)}
        case inspect.DictType(value_type=value):
            return _map_schema(value, with_defaults)
        case _:
            return _scalar_schema(type_info)


def _map_schema(value_type: inspect.Type, with_defaults: bool) -> Schema:
    if isinstance(value_type, inspect.AnyType):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": _type_schema(value_type, with_defaults)}


def _scalar_schema(type_info: inspect.Type) -> Schema:
    match type_info:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType(ge=least, le=most):
            return {
                "type": "integer",
                "format": "int64",
                **_drop_none(minimum=least, maximum=most),
            }
        case inspect.StrType(min_length=least, max_length=most, pattern=pattern):
            bounds = _drop_none(minLength=least, maxLength=most, pattern=pattern)
            return {"type": "string", **bounds}
        case _:
            raise TypeError(f"{type_info} is not supported in a custom resource")


def _drop_none(**bounds: object) -> Schema:
    return {name: bound for name, bound in bounds.items() if bound is not None}
