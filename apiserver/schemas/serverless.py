"""How a worker of a function looks on the wire."""

import re
from typing import Final

from marshmallow import validate

from apiserver.schemas.part import PartSchema
from apiserver.schemas.strict import Part, Text, Whole, matching
from shared.v1alpha1.framework import Framework
from shared.v1alpha1.gpuunit import Serverless

_REQUEST_ID: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?")
_WORDS: Final = "is not the name of a function: lower case letters, digits and -, at most 48"


class FrameworkSchema(PartSchema[Framework]):
    """How the user's code is reached; what is left out is the worker's default."""

    model = Framework
    socket_path = Text()
    invoke_path = Text()
    health_path = Text()


class ServerlessSchema(PartSchema[Serverless]):
    """Which function the unit works for."""

    model = Serverless
    request_id = Text(
        data_key="requestID",
        required=True,
        validate=matching(_REQUEST_ID.fullmatch, _WORDS),
        metadata={"pattern": f"^{_REQUEST_ID.pattern}$"},
    )
    framework = Part(FrameworkSchema)
    concurrency = Whole(validate=validate.Range(1, 1000, error="must be from {min} to {max}"))
    timeout_seconds = Whole(validate=validate.Range(1, 3570, error="must be from {min} to {max}"))
