"""How what runs in a unit looks on the wire."""

from collections.abc import Sequence

from marshmallow import validate

from apiserver.schemas.fields import ListOf, Part, Text, Whole
from apiserver.schemas.names import ENV_RULES, PORT_RULES, SECRET_KEY_RULES, SUBDOMAIN_RULES
from apiserver.schemas.part import PartSchema
from apiserver.schemas.request import by_rule
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.template import (
    EnvSource,
    EnvVar,
    Port,
    Protocol,
    SecretKeyRef,
    Template,
)
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.validation.unit import workload_problems


class SecretKeyRefSchema(PartSchema[SecretKeyRef]):
    """One key of a Secret in the unit's namespace."""

    model = SecretKeyRef
    name = Text(required=True, metadata=SUBDOMAIN_RULES)
    key = Text(required=True, metadata=SECRET_KEY_RULES)


class EnvSourceSchema(PartSchema[EnvSource]):
    """Where the value of an environment variable comes from."""

    model = EnvSource
    secret_key_ref = Part(SecretKeyRefSchema, required=True)


class EnvVarSchema(PartSchema[EnvVar]):
    """One environment variable; it has a value or a source."""

    model = EnvVar
    name = Text(required=True, metadata=ENV_RULES)
    value = Text()
    value_from = Part(EnvSourceSchema)


class PortSchema(PartSchema[Port]):
    """One port that the user's program listens on."""

    model = Port
    name = Text(required=True, metadata=PORT_RULES)
    port = Whole(
        required=True, validate=validate.Range(1, 65535, error="must be from {min} to {max}")
    )
    protocol = Text(
        validate=validate.OneOf([each.value for each in Protocol], error="must be TCP or UDP"),
        metadata={"default": Protocol.TCP.value},
    )


def _envs(envs: tuple[EnvVar, ...]) -> Sequence[Problem]:
    return _workload(Template(envs=envs))


def _ports(ports: tuple[Port, ...]) -> Sequence[Problem]:
    return _workload(Template(ports=ports))


def _workload(template: Template) -> Sequence[Problem]:
    return workload_problems(GPUUnitSpec(spec_name="any", image="any", template=template))


class TemplateSchema(PartSchema[Template]):
    """With neither command nor args the image's own entrypoint runs."""

    model = Template
    command = ListOf(Text(), metadata={"description": "Replaces the entrypoint of the image."})
    args = ListOf(Text(), metadata={"description": "Replaces the arguments of the image."})
    envs = ListOf(Part(EnvVarSchema), validate=by_rule(_envs, "template.envs"))
    ports = ListOf(Part(PortSchema), validate=by_rule(_ports, "template.ports"))
