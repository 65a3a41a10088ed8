"""Names that follow from other names, never longer than a label and never shared by two inputs."""

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
    """The Deployment and the Service of a unit."""
    return _shorten(f"unit-{unit}")


def egress_policy_name(unit: str) -> str:
    """The NetworkPolicy of a unit."""
    return _shorten(f"egress-{unit}")


def prepare_job_name(storage: str) -> str:
    """The Job that fills a storage."""
    return _shorten(f"prepare-{storage}")


def accessor_name(storage: str) -> str:
    """The Deployment and the Service with which a storage is browsed."""
    return _shorten(f"accessor-{storage}")


def storage_volume_name(storage: str) -> str:
    """The volume of a pod that has a storage's files."""
    return _shorten(f"storage-{storage}")


def worker_name(function_name: str, number: int) -> str:
    """The unit that is a function's worker of that number."""
    return _shorten(f"{function_name}-{number}")


def queue_secret_name(function_name: str) -> str:
    """The Secret with which a function's workers reach the queue."""
    return _shorten(f"queue-{function_name}")


def pool_unit_name(pool: str, number: int) -> str:
    """The stock unit of that number which a pool keeps."""
    return _shorten(f"{pool}-{number}")


def stock_unit_name(operation_id: str, ordinal: int) -> str:
    """The stock unit that an operation seeds at that ordinal."""
    return f"stock-{label_hash(operation_id)}-{ordinal}"


def operation_name(operation_id: str) -> str:
    """The Operation object of an id: the same for everybody, so its name is the lock."""
    return label_hash(operation_id)


def label_hash(text: str) -> str:
    """Any text as 32 characters that may be a label's value or an object's name."""
    return _base32_digest(text)[:32]


def _shorten(name: str) -> str:
    """`name`, or a cut of it with a hash; a name that looks cut is hashed as well.

    Otherwise somebody could choose a name that is the cut form of another.
    """
    if len(name) <= MAX_LENGTH and not _SHORTENED.fullmatch(name):
        return name
    return f"{name[: MAX_LENGTH - _HASH_LENGTH - 1]}-{_base32_digest(name)[:_HASH_LENGTH]}"


def _base32_digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode().lower()
