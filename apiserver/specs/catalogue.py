"""The catalogue of machine specs from the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from apiserver.errors import ConflictError, ErrorDetail, InvalidRequestError
from shared.k8s.pod import Toleration
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import DEFAULT_GPU_RESOURCE, UnitResources


@dataclass(frozen=True, slots=True)
class RequestedResources:
    """The resources that a request names; None for absent ones."""

    cpu: str | None = None
    memory: str | None = None
    gpu: int | None = None
    gpu_resource: str | None = None
    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    shm_size: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One spec: its resources and its description."""

    resources: UnitResources
    description: str = ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The specs with fixed resources; requests give the resources of other specs."""

    entries: Mapping[str, CatalogueEntry] = field(default_factory=dict)

    def resolve_resources(self, spec_name: str, requested: RequestedResources) -> UnitResources:
        """Return the resources of a spec; ConflictError if the request names others."""
        entry = self.entries.get(spec_name)
        if entry is None:
            return resources_without_catalogue(spec_name, requested)
        differing = [
            name
            for name in REQUESTED_FIELDS
            if getattr(requested, name) is not None
            and not is_same_amount(getattr(requested, name), getattr(entry.resources, name))
        ]
        if differing:
            fields = msgspec.structs.fields(UnitResources)
            names = {item.name: item.encode_name for item in fields}
            details = tuple(
                ErrorDetail(names[name], f"the catalogue has {getattr(entry.resources, name)!r}")
                for name in differing
            )
            raise ConflictError(
                f"spec {spec_name!r} has other resources in the catalogue; omit these fields",
                details=details,
            )
        return entry.resources


REQUESTED_FIELDS = tuple(RequestedResources.__dataclass_fields__)


def resources_without_catalogue(spec_name: str, requested: RequestedResources) -> UnitResources:
    if requested.memory is None:
        message = f"spec {spec_name!r} is not in the catalogue, so memory is required"
        detail = ErrorDetail("memory", "is required for a spec that is not in the catalogue")
        raise InvalidRequestError(message, details=(detail,))
    return UnitResources(
        spec_name=spec_name,
        cpu=requested.cpu or "",
        memory=requested.memory,
        gpu=requested.gpu or 0,
        gpu_resource=requested.gpu_resource or DEFAULT_GPU_RESOURCE,
        node_selector=dict(requested.node_selector or {}),
        tolerations=requested.tolerations or (),
        shm_size=requested.shm_size or "",
    )


def is_same_amount(requested: object, catalogued: object) -> bool:
    """Return whether two values are equal; quantities compare by amount, 1024Mi is 1Gi."""
    if isinstance(requested, str) and isinstance(catalogued, str) and requested != catalogued:
        try:
            return Quantity.parse(requested) == Quantity.parse(catalogued)
        except ValueError:
            return False
    return requested == catalogued
