"""The specs that operators have described in the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from apiserver.errors import ConflictError, Detail, InvalidRequestError
from shared.k8s.quantity import Quantity
from shared.v1alpha1.unit_resources import GPU_RESOURCE, Envelope, Toleration


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller says of an envelope; None is nothing."""

    cpu: str | None = None
    memory: str | None = None
    gpu: int | None = None
    gpu_resource: str | None = None
    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    shm_size: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One spec: what it takes of a node, and what people are told of it."""

    envelope: Envelope
    description: str = ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A catalogued spec has one envelope; other specs have the one that the caller gives."""

    entries: Mapping[str, CatalogueEntry] = field(default_factory=dict)

    def envelope(self, spec_name: str, given: Given) -> Envelope:
        """The envelope of a spec; refuses another one than the catalogue's."""
        entry = self.entries.get(spec_name)
        if entry is None:
            return uncatalogued(spec_name, given)
        differing = [
            name
            for name in GIVEN_FIELDS
            if getattr(given, name) is not None
            and not is_same(getattr(given, name), getattr(entry.envelope, name))
        ]
        if differing:
            fields = msgspec.structs.fields(Envelope)
            names = {each.name: each.encode_name for each in fields}
            details = tuple(
                Detail(names[name], f"the catalogue has {getattr(entry.envelope, name)!r}")
                for name in differing
            )
            raise ConflictError(
                f"spec {spec_name!r} is catalogued with another envelope; leave it out",
                details=details,
            )
        return entry.envelope


GIVEN_FIELDS = tuple(Given.__dataclass_fields__)


def uncatalogued(spec_name: str, given: Given) -> Envelope:
    if given.memory is None:
        message = f"spec {spec_name!r} is not in the catalogue, so its memory must be given"
        detail = Detail("memory", "missing data for a spec that is not in the catalogue")
        raise InvalidRequestError(message, details=(detail,))
    return Envelope(
        spec_name=spec_name,
        cpu=given.cpu or "",
        memory=given.memory,
        gpu=given.gpu or 0,
        gpu_resource=given.gpu_resource or GPU_RESOURCE,
        node_selector=dict(given.node_selector or {}),
        tolerations=given.tolerations or (),
        shm_size=given.shm_size or "",
    )


def is_same(given: object, catalogued: object) -> bool:
    """Quantities compare by amount: 1024Mi is 1Gi."""
    if isinstance(given, str) and isinstance(catalogued, str) and given != catalogued:
        try:
            return Quantity.parse(given) == Quantity.parse(catalogued)
        except ValueError:
            return False
    return given == catalogued
