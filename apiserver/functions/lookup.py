"""The functions as invocations need them: often, and a few seconds old."""

from typing import Final

from apiserver.clock import Clock
from apiserver.errors import ConflictError, NotFoundError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import FUNCTIONS
from apiserver.single_flight import SingleFlight
from shared.v1alpha1.function import Function

SECONDS: Final = 5.0
PAGE: Final = 500

_ALL: Final = ""


class FunctionLookup:
    """Knows the functions of the instance namespace; what is absent is asked for every time."""

    def __init__(self, objects: Objects, namespace: str, clock: Clock) -> None:
        self._objects = objects
        self._namespace = namespace
        self._functions = SingleFlight[Function](clock, SECONDS)
        self._uids = SingleFlight[dict[str, str]](clock, SECONDS)

    async def find(self, request_id: str) -> Function:
        """The function as it was a few seconds ago; NotFoundError."""

        async def fetch() -> Function:
            return await self._objects.get(FUNCTIONS, self._namespace, request_id)

        try:
            return await self._functions.get(request_id, fetch)
        except kube_errors.AbsentError:
            raise NotFoundError(f"there is no function {request_id!r}") from None

    async def accepting(self, request_id: str) -> Function:
        """The function, if it takes work; NotFoundError, ConflictError."""
        function = await self.find(request_id)
        if function.metadata.deletion_timestamp is not None:
            raise ConflictError(f"the function {request_id!r} is being deleted")
        return function

    async def require_unchanged(self, function: Function) -> None:
        """Refuse what has taken longer than its function stood; NotFoundError, ConflictError."""
        now = await self.accepting(function.metadata.name)
        if now.metadata.uid != function.metadata.uid:
            raise ConflictError(
                f"the function {function.metadata.name!r} was deleted and made anew meanwhile; "
                "send the invocation again"
            )

    async def uid(self, request_id: str) -> str | None:
        """The uid of a function, None for one that there is not.

        All functions are known from one list; who is not in it may be new, and is asked for.
        """
        known = await self._uids.get(_ALL, self._list)
        if request_id in known:
            return known[request_id]
        try:
            return (await self.find(request_id)).metadata.uid
        except NotFoundError:
            return None

    async def _list(self) -> dict[str, str]:
        found: dict[str, str] = {}
        selection = Selection(limit=PAGE, cached=True)
        while True:
            page = await self._objects.list(FUNCTIONS, self._namespace, selection)
            found |= {each.metadata.name: each.metadata.uid for each in page.items}
            if not page.token:
                return found
            selection = Selection(limit=PAGE, token=page.token)
