"""Structural OpenAPI schemas of models, as CustomResourceDefinitions want them."""

from typing import Any

from msgspec import inspect

from hack.generate.crd_rules import LIST_KEYS, RULES, SETS

Schema = dict[str, Any]


def of_type(hint: Any, *, with_defaults: bool) -> Schema:
    """The schema of a model's part; a status has only the defaults that its model names."""
    return _type(inspect.type_info(hint), with_defaults)


def _struct(found: inspect.StructType, with_defaults: bool) -> Schema:
    required = [field.encode_name for field in found.fields if field.required]
    rules = [{"rule": rule, "message": says} for rule, says in RULES.get(found.cls, ())]
    return {
        "type": "object",
        "description": found.cls.__doc__,
        **({"required": required} if required else {}),
        "properties": {field.encode_name: _field(field, with_defaults) for field in found.fields},
        **({"x-kubernetes-validations": rules} if rules else {}),
    }


def _field(field: inspect.Field, with_defaults: bool) -> Schema:
    schema = _type(field.type, with_defaults)
    if schema["type"] == "array":
        schema |= _list_type(field)
    if with_defaults and _is_shown(field.default):
        schema["default"] = field.default
    return schema


def _is_shown(default: object) -> bool:
    """Numbers, and texts that say something, are written into objects; the rest stays absent."""
    return type(default) is int or (isinstance(default, str) and default != "")


def _list_type(field: inspect.Field) -> Schema:
    found = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
    item = found.item_type if isinstance(found, inspect.VarTupleType) else None
    if isinstance(item, inspect.StructType) and item.cls in LIST_KEYS:
        keys = [LIST_KEYS[item.cls]]
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    return {"x-kubernetes-list-type": "set" if field.encode_name in SETS else "atomic"}


def _type(found: inspect.Type, with_defaults: bool) -> Schema:
    match found:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return {**_type(inner, with_defaults), **(extra or {})}
        case inspect.UnionType(types=types):
            [inner] = [each for each in types if not isinstance(each, inspect.NoneType)]
            return _type(inner, with_defaults)
        case inspect.StructType():
            return _struct(found, with_defaults)
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _type(item, with_defaults)}
        case inspect.DictType(value_type=value):
            return _map(value, with_defaults)
        case _:
            return _plain(found)


def _map(value: inspect.Type, with_defaults: bool) -> Schema:
    if isinstance(value, inspect.AnyType):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": _type(value, with_defaults)}


def _plain(found: inspect.Type) -> Schema:
    match found:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType(ge=least, le=most):
            return {"type": "integer", "format": "int64", **_given(minimum=least, maximum=most)}
        case inspect.StrType(min_length=least, max_length=most, pattern=pattern):
            bounds = _given(minLength=least, maxLength=most, pattern=pattern)
            return {"type": "string", **bounds}
        case _:
            raise TypeError(f"{found} has no place in a custom resource")


def _given(**bounds: object) -> Schema:
    return {name: bound for name, bound in bounds.items() if bound is not None}
