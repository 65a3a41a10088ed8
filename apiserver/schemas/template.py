"""Schemas of the workload of a unit."""

from collections.abc import Callable, Sequence
from typing import Any

from marshmallow import validate

from apiserver.schemas.fields import StrictInteger, StrictList, StrictNested, StrictString
from apiserver.schemas.names import (
    ENV_NAME_RULES,
    IMAGE_RULES,
    PORT_NAME_RULES,
    SECRET_KEY_RULES,
    SUBDOMAIN_RULES,
)
from apiserver.schemas.request import ModelSchema, rule_validator
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.template import (
    EnvVar,
    EnvVarSource,
    Port,
    PortProtocol,
    SecretKeyRef,
    WorkloadTemplate,
)
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.unit import workload_problems


class SecretKeyRefSchema(ModelSchema[SecretKeyRef]):
    """One key of a Secret in the unit's namespace."""

    model = SecretKeyRef
    name = StrictString(required=True, metadata=SUBDOMAIN_RULES)
    key = StrictString(required=True, metadata=SECRET_KEY_RULES)


class EnvSourceSchema(ModelSchema[EnvVarSource]):
    """The source of the value of an environment variable."""

    model = EnvVarSource
    secret_key_ref = StrictNested(SecretKeyRefSchema, required=True)


class EnvVarSchema(ModelSchema[EnvVar]):
    """One environment variable; it has a value or a source."""

    model = EnvVar
    name = StrictString(required=True, metadata=ENV_NAME_RULES)
    value = StrictString()
    value_from = StrictNested(EnvSourceSchema)


class PortSchema(ModelSchema[Port]):
    """One port that the user's program listens on."""

    model = Port
    name = StrictString(required=True, metadata=PORT_NAME_RULES)
    port = StrictInteger(
        required=True, validate=validate.Range(1, 65535, error="must be from {min} to {max}")
    )
    protocol = StrictString(
        validate=validate.OneOf(
            [protocol.value for protocol in PortProtocol], error="must be TCP or UDP"
        ),
        metadata={"default": PortProtocol.TCP.value},
    )


def _env_problems(envs: tuple[EnvVar, ...]) -> Sequence[Problem]:
    return _template_problems(WorkloadTemplate(envs=envs))


def _port_problems(ports: tuple[Port, ...]) -> Sequence[Problem]:
    return _template_problems(WorkloadTemplate(ports=ports))


def _template_problems(template: WorkloadTemplate) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image="any", template=template))


class TemplateSchema(ModelSchema[WorkloadTemplate]):
    """The workload of a unit; with neither command nor args the image's own entrypoint runs."""

    model = WorkloadTemplate
    command = StrictList(
        StrictString(), metadata={"description": "Replaces the entrypoint of the image."}
    )
    args = StrictList(
        StrictString(), metadata={"description": "Replaces the arguments of the image."}
    )
    envs = StrictList(
        StrictNested(EnvVarSchema), validate=rule_validator(_env_problems, "template.envs")
    )
    ports = StrictList(
        StrictNested(PortSchema), validate=rule_validator(_port_problems, "template.ports")
    )


def _image_problems(image: str) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image=image))


class ImageField(StrictString):
    """The image of a container."""

    def __init__(
        self, *, max_length: int | None = None, description: str = "", **options: Any
    ) -> None:
        metadata = {"description": description} if description else {}
        checks: list[Callable[[Any], Any]] = [rule_validator(_image_problems, "image")]
        if max_length is not None:
            checks.append(validate.Length(max=max_length, error="is longer than {max} characters"))
        super().__init__(validate=checks, metadata=IMAGE_RULES | metadata, **options)
