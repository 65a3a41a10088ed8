"""The Lease object, and its use as a lock between processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from controller.runtime.client.client import Client
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.errors import KubeError, NotFoundError
from controller.runtime.key import ObjectKey


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The spec of a Lease; every field may be absent."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease of coordination.k8s.io."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", Lease)


class LeaseNotReadError(KubeError):
    """A lease was updated before it was read or created, so its version is unknown."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The holder and the duration of a lease; without a holder it is free.

    The times are text, because they come from another machine's clock and must not be compared.
    """

    holder: str = ""
    duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0


def record_from_spec(spec: LeaseSpec) -> LeaseRecord:
    """Return the record in a Lease; absent fields are empty or zero."""
    return LeaseRecord(
        holder=spec.holder_identity or "",
        duration_seconds=spec.lease_duration_seconds or 0,
        acquire_time=spec.acquire_time or "",
        renew_time=spec.renew_time or "",
        transitions=spec.lease_transitions or 0,
    )


def spec_from_record(record: LeaseRecord) -> dict[str, Any]:
    """Return the spec of a Lease, without unknown times."""
    spec = LeaseSpec(
        holder_identity=record.holder,
        lease_duration_seconds=record.duration_seconds,
        acquire_time=record.acquire_time or None,
        renew_time=record.renew_time or None,
        lease_transitions=record.transitions,
    )
    fields: Mapping[str, Any] = msgspec.to_builtins(spec)
    return {name: value for name, value in fields.items() if value is not None}


class LeaseLock:
    """One Lease; every write is based on the version that was read or written last.

    `identity` must be unique to the process, not to the machine. The caller limits the time of each
    request.
    """

    def __init__(self, client: Client, key: ObjectKey, identity: str) -> None:
        self._client = client
        self._key = key
        self._version = ""
        self.identity = identity

    async def get(self) -> LeaseRecord | None:
        """Return the current record; None if there is no Lease."""
        try:
            return self._remember_version(await self._client.get(LEASES, self._key))
        except NotFoundError:
            return None

    async def create(self, record: LeaseRecord) -> None:
        """Create the Lease; AlreadyExistsError if another process did."""
        metadata = {"namespace": self._key.namespace, "name": self._key.name}
        body = {"metadata": metadata, "spec": spec_from_record(record)}
        self._remember_version(await self._client.create(LEASES, body))

    async def update(self, record: LeaseRecord) -> None:
        """Write the record; ConflictError if the Lease changed since it was read."""
        if not self._version:
            raise LeaseNotReadError(f"{LEASES} {self._key} was not read before its update")
        body = {"metadata": {"resourceVersion": self._version}, "spec": spec_from_record(record)}
        self._remember_version(await self._client.patch(LEASES, self._key, body))

    def _remember_version(self, lease: Lease) -> LeaseRecord:
        self._version = lease.metadata.resource_version
        return record_from_spec(lease.spec)
