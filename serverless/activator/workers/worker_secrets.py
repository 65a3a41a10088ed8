"""The Secrets with which the workers of a function connect to NATS."""

import base64
from typing import Any

from controller.runtime import Client, NotFoundError, ObjectKey, Writer, controller_reference
from serverless.activator.auth.worker_credentials import worker_user_of
from serverless.activator.kinds import FUNCTIONS, WORKER_SECRETS
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.function import Function


class WorkerSecrets:
    """The Secrets with which workers connect to NATS, written if they differ."""

    def __init__(self, client: Client, writer: Writer, url: str, worker_key: bytes) -> None:
        self._client = client
        self._writer = writer
        self._url = url
        self._worker_key = worker_key
        self._ensured_uids: dict[str, str] = {}

    async def ensure_once(self, function: Function) -> None:
        """Ensure the Secret of a function once in the life of this process."""
        if self._ensured_uids.get(function.metadata.name) != function.metadata.uid:
            await self.ensure(function)
            self._ensured_uids[function.metadata.name] = function.metadata.uid

    def forget(self, function_name: str) -> None:
        """Forget that the Secret of a deleted function was ensured."""
        self._ensured_uids.pop(function_name, None)

    async def ensure(self, function: Function) -> None:
        """Create or update the Secret of a function."""
        meta, data = function.metadata, worker_secret_data(function, self._url, self._worker_key)
        key = ObjectKey(meta.namespace, names.queue_secret_name(meta.name))
        try:
            live = await self._client.get(WORKER_SECRETS, key)
        except NotFoundError:
            live = None
        owners = () if live is None else live.metadata.owner_references
        is_current = live is not None and live.data == data
        if not is_current or meta.uid not in {owner.uid for owner in owners}:
            await self._writer.apply(WORKER_SECRETS, worker_secret(function, data))


def worker_secret_data(function: Function, url: str, worker_key: bytes) -> dict[str, str]:
    """Return the base64 values that a worker needs to connect to NATS."""
    user = worker_user_of(function)
    values = {
        "url": url,
        "user": user.name,
        "password": user.password(worker_key),
        "inboxPrefix": user.inbox_prefix,
    }
    return {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}


def worker_secret(function: Function, data: dict[str, str]) -> dict[str, Any]:
    """Return the Secret that the workers mount; it is deleted with the function."""
    meta = function.metadata
    return {
        "metadata": {
            "namespace": meta.namespace,
            "name": names.queue_secret_name(meta.name),
            "labels": {wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE},
            "ownerReferences": [controller_reference(FUNCTIONS, function)],
        },
        "data": data,
    }
