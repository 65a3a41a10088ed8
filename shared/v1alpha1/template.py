"""The workload of a unit: the user's command, environment and ports."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from shared.v1alpha1.schema import enum_schema


class PortProtocol(StrEnum):
    """The protocol of a port."""

    TCP = "TCP"
    UDP = "UDP"


class SecretKeyRef(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One key of a Secret in the unit's namespace."""

    name: Annotated[str, Meta(description="The name of the Secret.", min_length=1)]
    key: Annotated[str, Meta(description="The key in the Secret.", min_length=1)]


class EnvVarSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The source of the value of an environment variable."""

    secret_key_ref: Annotated[SecretKeyRef, Meta(description="A key of a Secret.")]


class EnvVar(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One environment variable; it has a value or a source."""

    name: Annotated[str, Meta(description="The name of the variable.", min_length=1)]
    value: Annotated[
        str, Meta(description="The value in plain text; for a secret, use valueFrom.")
    ] = ""
    value_from: Annotated[
        EnvVarSource | None, Meta(description="The source of the value, instead of `value`.")
    ] = None


class Port(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One port that the user's program listens on."""

    name: Annotated[str, Meta(description="The name of the port.", min_length=1)]
    port: Annotated[int, Meta(description="The number of the port.", ge=1, le=65535)]
    protocol: Annotated[
        str,
        Meta(
            description="The protocol of the port, TCP or UDP.",
            extra_json_schema=enum_schema(PortProtocol),
        ),
    ] = PortProtocol.TCP.value


class WorkloadTemplate(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The workload of a unit; with neither command nor args the image's own entrypoint runs."""

    command: Annotated[
        tuple[str, ...], Meta(description="Replaces the entrypoint of the image.")
    ] = ()
    args: Annotated[tuple[str, ...], Meta(description="Replaces the arguments of the image.")] = ()
    envs: Annotated[
        tuple[EnvVar, ...],
        Meta(description="Environment variables; they override those of the controller."),
    ] = ()
    ports: Annotated[tuple[Port, ...], Meta(description="Ports that the program listens on.")] = ()
