"""Whether the functions that records are of still stand."""

from controller.runtime.cache.cache import Cache
from controller.runtime.client.client import Client
from controller.runtime.errors import KubeError, NotFoundError
from controller.runtime.key import ObjectKey
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.sweep.decision import Existence
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord
from shared.v1alpha1.function import Function


class FunctionExistence:
    """Looks in the cache, and before it calls a function gone, once a round at the server."""

    def __init__(self, functions: Cache[Function], client: Client, namespace: str) -> None:
        self._functions = functions
        self._client = client
        self._namespace = namespace
        self._live_uids: dict[str, str] = {}

    def forget_live_reads(self) -> None:
        """Forget what the server has said."""
        self._live_uids = {}

    def is_missing_in_cache(self, function_name: str, function_uid: str) -> bool:
        """Whether the cache has no such function; one of another uid is another."""
        known = self._functions.get(self._key(function_name))
        return known is None or known.metadata.uid != function_uid

    async def check(self, record_key: str, record: InvocationRecord) -> Existence:
        """Whether the function of the record stands."""
        request_id = parse_record_key(record_key)[0]
        if not self.is_missing_in_cache(request_id, record.function_uid):
            return Existence.PRESENT
        if request_id not in self._live_uids:
            self._live_uids[request_id] = await self._live_uid(request_id, record.function_uid)
        is_same = self._live_uids[request_id] == record.function_uid
        return Existence.PRESENT if is_same else Existence.GONE

    async def exists(self, function_name: str) -> bool:
        """Whether the server has a function of that name, or cannot tell."""
        return bool(await self._live_uid(function_name, "unknown"))

    async def _live_uid(self, function_name: str, default: str) -> str:
        """The uid of the function at the server; `otherwise` while the server cannot tell."""
        try:
            return (await self._client.get(FUNCTIONS, self._key(function_name))).metadata.uid
        except NotFoundError:
            return ""
        except KubeError:
            return default

    def _key(self, function_name: str) -> ObjectKey:
        return ObjectKey(self._namespace, function_name)
