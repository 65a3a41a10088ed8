"""Cached functions for invocations."""

from typing import Final

from apiserver.errors import ConflictError, NotFoundError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import FUNCTIONS
from apiserver.single_flight import SingleFlightCache
from shared.clock import Clock
from shared.v1alpha1.function import Function

CACHE_SECONDS: Final = 5.0
PAGE_SIZE: Final = 500

_ALL_FUNCTIONS_KEY: Final = ""


class FunctionLookup:
    """A cache of functions, at most five seconds old; absent functions are not cached."""

    def __init__(self, objects: ObjectClient, namespace: str, clock: Clock) -> None:
        self._objects = objects
        self._namespace = namespace
        self._functions = SingleFlightCache[Function](clock, CACHE_SECONDS)
        self._uids = SingleFlightCache[dict[str, str]](clock, CACHE_SECONDS)

    async def get(self, function_name: str) -> Function:
        """Return the function as it was at most five seconds ago; NotFoundError."""

        async def fetch() -> Function:
            return await self._objects.get(FUNCTIONS, self._namespace, function_name)

        try:
            return await self._functions.get(function_name, fetch)
        except kube_errors.NotFoundError:
            raise NotFoundError(f"there is no function {function_name!r}") from None

    async def get_accepting(self, function_name: str) -> Function:
        """Return the function; NotFoundError, ConflictError if it is being deleted."""
        function = await self.get(function_name)
        if function.metadata.deletion_timestamp is not None:
            raise ConflictError(f"the function {function_name!r} is being deleted")
        return function

    async def require_unchanged(self, function: Function) -> None:
        """Raise NotFoundError or ConflictError if the function was deleted or recreated."""
        current = await self.get_accepting(function.metadata.name)
        if current.metadata.uid != function.metadata.uid:
            raise ConflictError(
                f"the function {function.metadata.name!r} was deleted and created again; "
                "send the invocation again"
            )

    async def find_uid(self, function_name: str) -> str | None:
        """Return the uid of a function; None if there is none.

        The list of functions is cached; a function that is not in it may be new and is read.
        """
        uids = await self._uids.get(_ALL_FUNCTIONS_KEY, self._list_uids)
        if function_name in uids:
            return uids[function_name]
        try:
            return (await self.get(function_name)).metadata.uid
        except NotFoundError:
            return None

    async def _list_uids(self) -> dict[str, str]:
        uids: dict[str, str] = {}
        selection = ListOptions(limit=PAGE_SIZE, from_cache=True)
        while True:
            page = await self._objects.list(FUNCTIONS, self._namespace, selection)
            uids |= {item.metadata.name: item.metadata.uid for item in page.items}
            if not page.continue_token:
                return uids
            selection = ListOptions(limit=PAGE_SIZE, continue_token=page.continue_token)
