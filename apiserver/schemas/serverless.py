"""Schemas of a worker of a function."""

from typing import Any, Final

from marshmallow import validate

from apiserver.schemas.fields import StrictInteger, StrictNested, StrictString, predicate_validator
from apiserver.schemas.request import ModelSchema
from shared.invocation.ids import FUNCTION_NAME_PATTERN, is_function_name
from shared.v1alpha1.framework_endpoint import FrameworkEndpoint
from shared.v1alpha1.gpuunit import ServerlessSpec

FUNCTION_NAME_RULES: Final = {"pattern": FUNCTION_NAME_PATTERN, "maxLength": 48}

_MAX_PATH_LENGTH: Final = 256


class FunctionName(StrictString):
    """The name of a function."""

    def __init__(self, **options: Any) -> None:
        message = (
            "is not the name of a function: lower case letters, digits and -, at most 48 characters"
        )
        super().__init__(
            validate=predicate_validator(is_function_name, message),
            metadata={"description": "The name of the function.", **FUNCTION_NAME_RULES},
            **options,
        )


class FrameworkPath(StrictString):
    """An absolute path of characters that are safe in headers and logs."""

    def __init__(self) -> None:
        message = f"is not an absolute path of at most {_MAX_PATH_LENGTH} printable characters"
        super().__init__(
            validate=predicate_validator(is_framework_path, message),
            metadata={"pattern": "^(/[!-~]*)?$"},
        )


def is_framework_path(text: str) -> bool:
    """Return whether `text` can be a path of the framework; empty means the default."""
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return text == "" or (text.startswith("/") and is_plain and len(text) <= _MAX_PATH_LENGTH)


class FrameworkSchema(ModelSchema[FrameworkEndpoint]):
    """The endpoint of the user's code; the worker has defaults for absent fields."""

    model = FrameworkEndpoint
    socket_path = FrameworkPath()
    invoke_path = FrameworkPath()
    health_path = FrameworkPath()


class ServerlessSchema(ModelSchema[ServerlessSpec]):
    """The function for which the unit works."""

    model = ServerlessSpec
    function_name = FunctionName(data_key="requestID", required=True)
    framework = StrictNested(FrameworkSchema)
    concurrency = StrictInteger(
        validate=validate.Range(1, 1000, error="must be from {min} to {max}")
    )
    timeout_seconds = StrictInteger(
        validate=validate.Range(1, 3570, error="must be from {min} to {max}")
    )
