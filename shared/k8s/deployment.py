"""Deployments and their ReplicaSets, limited to the fields that the programs read."""

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
    """The progress of the rollout of a generation."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that keeps pods of one template running.

    The spec stays undecoded, so that it can be compared with the applied one.
    """

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: DeploymentStatus = DeploymentStatus()


class PodTemplateSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The template of pods."""

    spec: PodSpec = PodSpec()


class ReplicaSetSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The number of pods and their template."""

    replicas: int = 0
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One revision of a Deployment; the metadata has its owner and the number of the revision."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()
