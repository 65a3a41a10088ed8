"""Names derived from other names, never longer than a label and never equal for two inputs."""

import base64
import hashlib
import re
from typing import Final

MAX_LENGTH: Final = 63
_HASH_LENGTH: Final = 16  # base32 characters: 80 bits
_SHORTENED: Final = re.compile(
    rf".{{{MAX_LENGTH - _HASH_LENGTH - 1}}}-[a-z2-7]{{{_HASH_LENGTH}}}", re.DOTALL
)


def unit_child_name(unit: str) -> str:
    """Return the name of the Deployment and the Service of a unit."""
    return _shorten(f"unit-{unit}")


def egress_policy_name(unit: str) -> str:
    """Return the name of the NetworkPolicy of a unit."""
    return _shorten(f"egress-{unit}")


def prepare_job_name(storage: str) -> str:
    """Return the name of the Job that prepares a storage."""
    return _shorten(f"prepare-{storage}")


def accessor_name(storage: str) -> str:
    """Return the name of the Deployment and the Service of a storage's accessor."""
    return _shorten(f"accessor-{storage}")


def storage_volume_name(storage: str) -> str:
    """Return the name of the pod volume that has a storage's files."""
    return _shorten(f"storage-{storage}")


def worker_name(function_name: str, number: int) -> str:
    """Return the name of the unit that is a function's worker of that number."""
    return _shorten(f"{function_name}-{number}")


def queue_secret_name(function_name: str) -> str:
    """Return the name of the Secret with which a function's workers connect to the queue."""
    return _shorten(f"queue-{function_name}")


def pool_unit_name(pool: str, number: int) -> str:
    """Return the name of the stock unit of that number in a pool."""
    return _shorten(f"{pool}-{number}")


def stock_unit_name(operation_id: str, ordinal: int) -> str:
    """Return the name of the stock unit that an operation seeds at that ordinal."""
    return f"stock-{label_hash(operation_id)}-{ordinal}"


def operation_name(operation_id: str) -> str:
    """Return the name of an operation's object.

    All callers derive the same name from an id, so the name is the lock.
    """
    return label_hash(operation_id)


def label_hash(text: str) -> str:
    """Return a hash of any text: 32 characters, valid as a label's value or an object's name."""
    return _base32_digest(text)[:32]


def _shorten(name: str) -> str:
    """Return `name`, or a truncated form of it with a hash.

    A name that looks truncated is hashed as well. Otherwise a caller could choose a name that is
    the truncated form of another.
    """
    if len(name) <= MAX_LENGTH and not _SHORTENED.fullmatch(name):
        return name
    return f"{name[: MAX_LENGTH - _HASH_LENGTH - 1]}-{_base32_digest(name)[:_HASH_LENGTH]}"


def _base32_digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode().lower()
