"""The widget as a typed value in msgspec's most compact form: frozen, untracked, with tuples."""

import msgspec


class WidgetPart(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of a widget; it has no cycles, so the garbage collector need not track it."""


class OwnerReference(WidgetPart, frozen=True):
    """The owner of a widget."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class WidgetMetadata(WidgetPart, frozen=True):
    """The metadata without managedFields."""

    name: str
    namespace: str
    uid: str
    resource_version: str
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class EnvVar(WidgetPart, frozen=True):
    """One variable of a container."""

    name: str
    value: str = ""


class ContainerPort(WidgetPart, frozen=True):
    """One port of a container."""

    name: str
    container_port: int
    protocol: str = ""


class ContainerResources(WidgetPart, frozen=True):
    """The requests and limits of a container."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class VolumeMount(WidgetPart, frozen=True):
    """The path of a volume in a container."""

    name: str
    mount_path: str


class Container(WidgetPart, frozen=True):
    """A container of a widget."""

    name: str
    image: str
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ContainerResources = ContainerResources()
    volume_mounts: tuple[VolumeMount, ...] = ()


class RolloutStrategy(WidgetPart, frozen=True):
    """The strategy of a rollout."""

    type: str = ""
    max_surge: int = 0
    max_unavailable: int = 0


class WidgetSpec(WidgetPart, frozen=True):
    """The desired state."""

    stamp: str = ""
    replicas: int = 0
    paused: bool = False
    selector: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    strategy: RolloutStrategy = RolloutStrategy()
    containers: tuple[Container, ...] = ()


class WidgetCondition(WidgetPart, frozen=True):
    """One aspect of the observed state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class WidgetStatus(WidgetPart, frozen=True):
    """The observed state."""

    phase: str = ""
    replicas: int = 0
    ready_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[WidgetCondition, ...] = ()


class Widget(WidgetPart, frozen=True):
    """The whole object."""

    api_version: str
    kind: str
    metadata: WidgetMetadata
    spec: WidgetSpec
    status: WidgetStatus = WidgetStatus()
