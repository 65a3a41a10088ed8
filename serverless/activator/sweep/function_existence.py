"""Whether the functions that records are of still stand."""

from controller.runtime.cache.cache import Cache
from controller.runtime.client.client import Client
from controller.runtime.errors import ApiError, NotFoundError
from controller.runtime.key import ObjectKey
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.sweep.decision import Home
from shared.invocation.queue_names import ids_of
from shared.invocation.record import Record
from shared.v1alpha1.function import Function


class Homes:
    """Looks in the cache, and before it calls a function gone, once a round at the server."""

    def __init__(self, functions: Cache[Function], client: Client, namespace: str) -> None:
        self._functions = functions
        self._client = client
        self._namespace = namespace
        self._live: dict[str, str] = {}

    def look_anew(self) -> None:
        """Forget what the server has said."""
        self._live = {}

    def is_gone(self, request_id: str, function_uid: str) -> bool:
        """Whether the cache has no such function; one of another uid is another."""
        known = self._functions.get(self._key(request_id))
        return known is None or known.metadata.uid != function_uid

    async def of(self, key: str, record: Record) -> Home:
        """Whether the function of the record stands."""
        request_id = ids_of(key)[0]
        if not self.is_gone(request_id, record.function_uid):
            return Home.STANDS
        if request_id not in self._live:
            self._live[request_id] = await self._uid(request_id, record.function_uid)
        is_same = self._live[request_id] == record.function_uid
        return Home.STANDS if is_same else Home.GONE

    async def stands(self, request_id: str) -> bool:
        """Whether the server has a function of that name, or cannot tell."""
        return bool(await self._uid(request_id, "unknown"))

    async def _uid(self, request_id: str, otherwise: str) -> str:
        """The uid of the function at the server; `otherwise` while the server cannot tell."""
        try:
            return (await self._client.get(FUNCTIONS, self._key(request_id))).metadata.uid
        except NotFoundError:
            return ""
        except ApiError:
            return otherwise

    def _key(self, request_id: str) -> ObjectKey:
        return ObjectKey(self._namespace, request_id)
