"""JetStream's error codes and the layout of its object stores, for all programs that use NATS."""

import base64
from typing import Final

import msgspec

# The `err_code` of a JetStream error reply; the names are those of the NATS server.
CONSUMER_NOT_FOUND: Final = 10014
MESSAGE_NOT_FOUND: Final = 10037
SEQUENCE_NOT_FOUND: Final = 10043
STREAM_NAME_IN_USE: Final = 10058  # a stream of that name exists with another configuration
STREAM_NOT_FOUND: Final = 10059
STREAM_SUBJECT_OVERLAP: Final = 10065
WRONG_LAST_SEQUENCE: Final = 10071
STORE_FAILED: Final = 10077  # a limit of the stream or of the subject is reached
CONSUMER_ALREADY_EXISTS: Final = 10148  # a consumer of that name exists with another configuration
WRONG_LAST_SEQUENCE_CONSTANT: Final = 10164

ITEM_NOT_FOUND_CODES: Final = frozenset({CONSUMER_NOT_FOUND, MESSAGE_NOT_FOUND, SEQUENCE_NOT_FOUND})
REVISION_CONFLICT_CODES: Final = frozenset({WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_CONSTANT})

OBJECT_CHUNK_BYTES: Final = 128 * 1024

_DIGEST_PREFIX: Final = "SHA-256="


class ObjectOptions(msgspec.Struct, frozen=True):
    """The division of an object into chunks."""

    max_chunk_size: int = OBJECT_CHUNK_BYTES


class ObjectInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The metadata message of an object; `nuid` is the last token of its chunks' subject."""

    name: str
    bucket: str
    nuid: str
    size: int
    mtime: str = ""
    chunks: int
    digest: str
    deleted: bool = False
    options: ObjectOptions | None = None


def object_stream_name(bucket: str) -> str:
    """Return the stream that holds an object store."""
    return f"OBJ_{bucket}"


def object_chunk_subject(bucket: str, nuid: str) -> str:
    """Return the subject of all chunks of one object."""
    return f"$O.{bucket}.C.{nuid}"


def object_info_subject(bucket: str, name: str) -> str:
    """Return the subject of the metadata of one object."""
    return f"$O.{bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


def format_object_digest(sha256: bytes) -> str:
    """Return a SHA-256 digest as the metadata holds it."""
    return _DIGEST_PREFIX + base64.urlsafe_b64encode(sha256).decode()
