"""How a worker of a function looks on the wire."""

from typing import Any, Final

from marshmallow import validate

from apiserver.schemas.fields import Part, Text, Whole, matching
from apiserver.schemas.part import PartSchema
from shared.invocation.ids import PATTERN, is_request_id
from shared.v1alpha1.framework_endpoint import Framework
from shared.v1alpha1.gpuunit import Serverless

REQUEST_ID_RULES: Final = {"pattern": PATTERN, "maxLength": 48}

_LONGEST_PATH: Final = 256


class RequestID(Text):
    """The name of a function."""

    def __init__(self, **options: Any) -> None:
        words = "is not the name of a function: lower case letters, digits and -, at most 48"
        super().__init__(
            validate=matching(is_request_id, words),
            metadata={"description": "The name of the function.", **REQUEST_ID_RULES},
            **options,
        )


class Path(Text):
    """An absolute path without anything that a header or a log could trip over."""

    def __init__(self) -> None:
        words = f"is not an absolute path of at most {_LONGEST_PATH} printable characters"
        super().__init__(validate=matching(is_path, words), metadata={"pattern": "^(/[!-~]*)?$"})


def is_path(text: str) -> bool:
    """Whether `text` can be a path of the framework; empty is the default."""
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return text == "" or (text.startswith("/") and is_plain and len(text) <= _LONGEST_PATH)


class FrameworkSchema(PartSchema[Framework]):
    """How the user's code is reached; what is left out is the worker's default."""

    model = Framework
    socket_path = Path()
    invoke_path = Path()
    health_path = Path()


class ServerlessSchema(PartSchema[Serverless]):
    """Which function the unit works for."""

    model = Serverless
    request_id = RequestID(data_key="requestID", required=True)
    framework = Part(FrameworkSchema)
    concurrency = Whole(validate=validate.Range(1, 1000, error="must be from {min} to {max}"))
    timeout_seconds = Whole(validate=validate.Range(1, 3570, error="must be from {min} to {max}"))
