"""Large bodies in the object stores of functions, in the format of all NATS clients."""

import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Final

import msgspec

from apiserver.nats.batches import BatchReader
from apiserver.nats.errors import BodyUnavailableError, QueueError, StreamNotFoundError
from apiserver.nats.replies import NOT_FOUND_STATUS, STATUS_HEADER, JetStreamReply, PublishAck
from apiserver.nats.requests import JetStreamRequests
from shared.invocation.jetstream import (
    ObjectInfo,
    ObjectOptions,
    format_object_digest,
    object_chunk_subject,
    object_info_subject,
    object_stream_name,
)
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, body_bucket_config

CHUNKS_PER_BATCH: Final = 8


class JetStreamBodyStore:
    """The BodyStore in JetStream object stores."""

    def __init__(
        self,
        requests: JetStreamRequests,
        names: QueueNames,
        limits: StreamLimits,
        make_id: Callable[[], str],
        now: Callable[[], datetime],
    ) -> None:
        self._requests = requests
        self._batches = BatchReader(requests)
        self._names = names
        self._limits = limits
        self._make_id = make_id
        self._now = now

    async def put(self, function_name: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Store a body and return its size; the metadata is last, so a partial body has no name."""
        bucket, nuid = self._names.body_bucket_name(function_name), self._make_id()
        try:
            info = await self._write(function_name, bucket, nuid, name, chunks)
        except BaseException:
            await self._purge_chunks(bucket, nuid)
            raise
        return info.size

    async def get(self, function_name: str, name: str) -> AsyncIterator[bytes]:
        """Yield the chunks of a body, the last one only if size and digest match."""
        bucket = self._names.body_bucket_name(function_name)
        info = await self._get_info(bucket, name)
        digest, subject = hashlib.sha256(), object_chunk_subject(bucket, info.nuid)
        chunk, size = b"", 0
        async for message in self._batches.iter_messages(
            object_stream_name(bucket), subject, CHUNKS_PER_BATCH
        ):
            if chunk:
                yield chunk
            chunk = message.data
            digest.update(chunk)
            size += len(chunk)
        if size != info.size or format_object_digest(digest.digest()) != info.digest:
            raise BodyUnavailableError(f"the object {name} is incomplete")
        if chunk:
            yield chunk

    async def exists(self, function_name: str, name: str) -> bool:
        """Return whether the body exists."""
        try:
            await self._get_info(self._names.body_bucket_name(function_name), name)
        except BodyUnavailableError:
            return False
        return True

    async def delete(self, function_name: str, name: str) -> None:
        """Delete a body that no record refers to."""
        bucket = self._names.body_bucket_name(function_name)
        info = await self._get_info(bucket, name)
        await self._purge_chunks(bucket, info.nuid)
        await self._purge_subject(bucket, object_info_subject(bucket, name))

    async def _write(
        self, function_name: str, bucket: str, nuid: str, name: str, chunks: AsyncIterator[bytes]
    ) -> ObjectInfo:
        digest, size, count = hashlib.sha256(), 0, 0
        async for chunk in chunks:
            await self._publish(
                function_name, object_chunk_subject(bucket, nuid), chunk, is_first=not count
            )
            digest.update(chunk)
            size, count = size + len(chunk), count + 1
        info = ObjectInfo(
            name=name,
            bucket=bucket,
            nuid=nuid,
            size=size,
            mtime=self._now().isoformat(),
            chunks=count,
            digest=format_object_digest(digest.digest()),
            options=ObjectOptions(),
        )
        data = msgspec.json.encode(info)
        await self._publish(
            function_name, object_info_subject(bucket, name), data, is_first=not count
        )
        return info

    async def _publish(
        self, function_name: str, subject: str, data: bytes, *, is_first: bool
    ) -> None:
        """Publish a chunk; if the bucket is missing, create it and retry the first chunk only."""
        try:
            await self._requests.request_as(PublishAck, subject, data)
        except StreamNotFoundError:
            if not is_first:
                raise
            config = body_bucket_config(self._names, self._limits, function_name)
            await self._requests.request_as(
                JetStreamReply,
                f"$JS.API.STREAM.CREATE.{config['name']}",
                msgspec.json.encode(config),
            )
            await self._requests.request_as(PublishAck, subject, data)

    async def _get_info(self, bucket: str, name: str) -> ObjectInfo:
        subject = object_info_subject(bucket, name)
        try:
            message = await self._requests.request(f"$JS.API.DIRECT.GET.OBJ_{bucket}.{subject}")
            if (message.headers or {}).get(STATUS_HEADER) == NOT_FOUND_STATUS:
                raise BodyUnavailableError(f"no such object: {name}")
            info = msgspec.json.decode(message.data, type=ObjectInfo)
        except StreamNotFoundError:
            raise BodyUnavailableError(f"no such bucket: {bucket}") from None
        except msgspec.DecodeError as error:
            raise BodyUnavailableError(f"the object {name} cannot be decoded: {error}") from None
        if info.deleted:
            raise BodyUnavailableError(f"the object {name} was deleted")
        return info

    async def _purge_chunks(self, bucket: str, nuid: str) -> None:
        """Delete chunks and ignore errors, because remaining chunks expire."""
        try:
            await self._purge_subject(bucket, object_chunk_subject(bucket, nuid))
        except QueueError:
            return

    async def _purge_subject(self, bucket: str, subject: str) -> None:
        request = msgspec.json.encode({"filter": subject})
        await self._requests.request_as(
            JetStreamReply, f"$JS.API.STREAM.PURGE.OBJ_{bucket}", request
        )
