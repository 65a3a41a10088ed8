"""Pods and Secrets, limited to the fields that running them needs."""

from typing import Final

import msgspec

from controller.runtime import Kind
from shared.k8s.meta import ObjectMeta

RESTART_ALWAYS: Final = "Always"


class SecretKeySelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One value of a Secret."""

    name: str
    key: str


class EnvVarSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The source of a variable's value."""

    secret_key_ref: SecretKeySelector | None = None


class EnvVar(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A variable of a container's environment."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class ContainerPort(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A port on which a container listens."""

    container_port: int


class VolumeMount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The path of a volume in a container."""

    name: str
    mount_path: str


class HTTPGetAction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to a container; a port may be named, but ours are numbers."""

    port: int | str
    path: str = "/"


class Probe(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A probe of a container by the kubelet."""

    http_get: HTTPGetAction | None = None
    period_seconds: float = 10
    timeout_seconds: float = 1
    failure_threshold: int = 3


class LifecycleHandler(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An action at one moment of a container's life."""

    http_get: HTTPGetAction | None = None


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The action before a container is stopped."""

    pre_stop: LifecycleHandler | None = None


class Container(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One program of a pod."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    restart_policy: str = ""


class SecretVolumeSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The files of a Secret."""

    secret_name: str


class Volume(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Files that containers share: of a Secret, or an empty folder."""

    name: str
    secret: SecretVolumeSource | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The containers and volumes of a pod."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def sidecars(self) -> tuple[Container, ...]:
        """Return the containers that start before the others and end after them."""
        return tuple(
            container
            for container in self.init_containers
            if container.restart_policy == RESTART_ALWAYS
        )


class PodMetadata(ObjectMeta, frozen=True, kw_only=True, rename="camel"):
    """Metadata with the grace period of a pod that is being deleted."""

    deletion_grace_period_seconds: int = 30


class Pod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Containers that run together."""

    metadata: PodMetadata
    spec: PodSpec = PodSpec()


class Secret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Values by key; msgspec decodes the base64 of the wire."""

    metadata: ObjectMeta
    data: dict[str, bytes] = {}


PODS: Final = Kind("", "v1", "pods", "Pod", Pod)
SECRETS: Final = Kind("", "v1", "secrets", "Secret", Secret)
