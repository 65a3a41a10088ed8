"""Pods, limited to the fields that the programs read."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.k8s.meta import ObjectMeta


class ResourceRequirements(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The resources that a container requests: quantities by resource name."""

    requests: dict[str, str] = {}


class Container(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One container of a pod; an init container that always restarts is a sidecar."""

    name: str
    restart_policy: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class PVCVolumeSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The PVC of a volume."""

    claim_name: str = ""


class Volume(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A volume that containers can mount; only the volume of a PVC has a source here."""

    persistent_volume_claim: PVCVolumeSource | None = None


class Toleration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A toleration of node taints, as in the spec of a pod."""

    key: Annotated[str, Meta(description="The key of the taint; empty: every key.")] = ""
    operator: Annotated[
        str, Meta(description="The comparison of the value, Equal or Exists; empty: Equal.")
    ] = ""
    value: Annotated[str, Meta(description="The value of the taint; empty for Exists.")] = ""
    effect: Annotated[str, Meta(description="The effect of the taint; empty: every effect.")] = ""
    toleration_seconds: Annotated[
        int | None,
        Meta(description="Seconds for which NoExecute is tolerated; absent: without a limit."),
    ] = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The node, the containers and the volumes of a pod."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def long_running_containers(self) -> tuple[Container, ...]:
        """Return the containers that run at the same time: the programs and the sidecars."""
        sidecars = (
            container for container in self.init_containers if container.restart_policy == "Always"
        )
        return (*self.containers, *sidecars)

    @property
    def pvc_names(self) -> tuple[str, ...]:
        """Return the names of the PVCs whose volumes the pod uses."""
        sources = (volume.persistent_volume_claim for volume in self.volumes)
        return tuple(source.claim_name for source in sources if source is not None)


class ContainerStateWaiting(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The reason why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerStateTerminated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The end of a container; the message is the content of its termination log."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a container: at most one field is set, and none of them while it runs."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a container, and its last state before the restart."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation of the scheduler, the kubelet or the node controller."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The observed state of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Containers that run together on one node."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
