"""Checks whether the functions of records exist."""

from controller.runtime import Cache, Client, KubeError, NotFoundError, ObjectKey
from serverless.activator.kinds import FUNCTIONS
from serverless.activator.sweep.decision import Existence
from shared.invocation.queue_names import parse_record_key
from shared.invocation.record import InvocationRecord
from shared.v1alpha1.function import Function


class FunctionExistence:
    """Reads the cache; before a function counts as gone, asks the API server once a round."""

    def __init__(self, functions: Cache[Function], client: Client, namespace: str) -> None:
        self._functions = functions
        self._client = client
        self._namespace = namespace
        self._live_uids: dict[str, str] = {}

    def forget_live_reads(self) -> None:
        """Forget the answers of the API server."""
        self._live_uids = {}

    def is_missing_in_cache(self, function_name: str, function_uid: str) -> bool:
        """Whether the cache has no function of that name and uid."""
        known = self._functions.get(self._key(function_name))
        return known is None or known.metadata.uid != function_uid

    async def check(self, record_key: str, record: InvocationRecord) -> Existence:
        """Return whether the function of the record exists."""
        function_name = parse_record_key(record_key)[0]
        if not self.is_missing_in_cache(function_name, record.function_uid):
            return Existence.PRESENT
        if function_name not in self._live_uids:
            self._live_uids[function_name] = await self._live_uid(
                function_name, record.function_uid
            )
        is_same = self._live_uids[function_name] == record.function_uid
        return Existence.PRESENT if is_same else Existence.GONE

    async def exists(self, function_name: str) -> bool:
        """Whether the API server has a function of that name, or cannot answer."""
        return bool(await self._live_uid(function_name, "unknown"))

    async def _live_uid(self, function_name: str, default: str) -> str:
        """Return the uid at the API server, empty if it is gone; `default` without an answer."""
        try:
            return (await self._client.get(FUNCTIONS, self._key(function_name))).metadata.uid
        except NotFoundError:
            return ""
        except KubeError:
            return default

    def _key(self, function_name: str) -> ObjectKey:
        return ObjectKey(self._namespace, function_name)
