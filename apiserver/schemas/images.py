"""How images look on the wire."""

from collections.abc import Callable, Sequence
from typing import Any

from marshmallow import validate

from apiserver.schemas.fields import StrictString
from apiserver.schemas.names import IMAGE_RULES
from apiserver.schemas.request import rule_validator
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.unit import workload_problems


def _image_problems(image: str) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image=image))


class ImageField(StrictString):
    """The image of a container."""

    def __init__(
        self, *, max_length: int | None = None, description: str = "", **options: Any
    ) -> None:
        told = {"description": description} if description else {}
        checks: list[Callable[[Any], Any]] = [rule_validator(_image_problems, "image")]
        if max_length is not None:
            checks.append(validate.Length(max=max_length, error="is longer than {max} characters"))
        super().__init__(validate=checks, metadata=IMAGE_RULES | told, **options)
