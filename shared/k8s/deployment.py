"""Deployments and their ReplicaSets, as far as we read them."""

from typing import Any, Final

import msgspec

from shared.k8s.meta import ObjectMeta
from shared.k8s.pod import PodSpec

REVISION_ANNOTATION: Final = "deployment.kubernetes.io/revision"


class DeploymentCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation of the deployment controller."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class DeploymentStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far the rollout of a generation is."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Keeps pods of one template running; the spec stays as it came, to be compared with ours."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: DeploymentStatus = DeploymentStatus()


class PodTemplateSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What pods are made of."""

    spec: PodSpec = PodSpec()


class ReplicaSetSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many pods of which template."""

    replicas: int = 0
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One revision of a Deployment; its metadata says whose and which."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()
