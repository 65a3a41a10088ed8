"""Reads and conditional writes of the objects of one resource, for services."""

from collections.abc import Awaitable, Callable
from typing import Generic

from apiserver.errors import NotFoundError, PreconditionFailedError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, ListOptions, ObjectClient, Page
from apiserver.kube.resources import Resource, Revision, T, revision_of


class ResourceStore(Generic[T]):
    """The objects of one resource in a namespace; `noun` names an object in messages.

    Every method except `list` raises NotFoundError if there is no object of the name.
    """

    def __init__(
        self, objects: ObjectClient, resource: Resource[T], namespace: str, noun: str
    ) -> None:
        self._objects = objects
        self._resource = resource
        self._namespace = namespace
        self._noun = noun

    async def list(self, options: ListOptions) -> Page[T]:
        """Return one page; ContinueTokenExpiredError."""
        return await self._objects.list(self._resource, self._namespace, options)

    async def get(self, name: str) -> T:
        """Return the current object."""
        try:
            return await self._objects.get(self._resource, self._namespace, name)
        except kube_errors.NotFoundError:
            raise self.not_found_error(name) from None

    async def patch(
        self,
        name: str,
        make_patch: Callable[[T], Awaitable[JsonObject]],
        if_match: tuple[Revision, ...] | None = None,
    ) -> T:
        """Send the patch that `make_patch` returns for the current object, and return the new one.

        The patch must name the version of the object; after a conflict both are made again. Raises
        PreconditionFailedError if the caller saw another revision.
        """
        while True:
            current = await self.get(name)
            self.require_revision(current, if_match)
            body = await make_patch(current)
            try:
                return await self._objects.patch(self._resource, self._namespace, name, body)
            except kube_errors.ConflictError:
                continue
            except kube_errors.NotFoundError:
                raise self.not_found_error(name) from None

    async def delete(self, name: str, check: Callable[[T], None] | None = None) -> None:
        """Delete the object; with `check`, only at a version for which `check` does not raise."""
        while True:
            preconditions = {}
            if check is not None:
                current = await self.get(name)
                check(current)
                meta = current.metadata
                preconditions = {"uid": meta.uid, "resource_version": meta.resource_version}
            try:
                return await self._objects.delete(
                    self._resource, self._namespace, name, **preconditions
                )
            except kube_errors.ConflictError:
                continue
            except kube_errors.NotFoundError:
                raise self.not_found_error(name) from None

    def require_revision(self, current: T, if_match: tuple[Revision, ...] | None) -> None:
        """Raise PreconditionFailedError if the object is at none of the revisions."""
        if if_match is not None and revision_of(current.metadata) not in if_match:
            raise PreconditionFailedError(f"the {self._noun} has changed since it was read")

    def not_found_error(self, name: str) -> NotFoundError:
        """Return the error for a missing object."""
        return NotFoundError(f"there is no {self._noun} {name!r}")
