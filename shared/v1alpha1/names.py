"""Names that follow from other names, never longer than a label and never shared by two inputs."""

import base64
import hashlib
import re
from typing import Final

LONGEST: Final = 63
_SUFFIX: Final = 16  # base32 characters: 80 bits
_CUT: Final = re.compile(rf".{{{LONGEST - _SUFFIX - 1}}}-[a-z2-7]{{{_SUFFIX}}}", re.DOTALL)


def unit_child(unit: str) -> str:
    """The Deployment and the Service of a unit."""
    return _within_limit(f"unit-{unit}")


def egress(unit: str) -> str:
    """The NetworkPolicy of a unit."""
    return _within_limit(f"egress-{unit}")


def prepare_job(storage: str) -> str:
    """The Job that fills a storage."""
    return _within_limit(f"prepare-{storage}")


def accessor(storage: str) -> str:
    """The Deployment and the Service with which a storage is browsed."""
    return _within_limit(f"accessor-{storage}")


def storage_volume(storage: str) -> str:
    """The volume of a pod that has a storage's files."""
    return _within_limit(f"storage-{storage}")


def worker(request_id: str, number: int) -> str:
    """The unit that is a function's worker of that number."""
    return _within_limit(f"{request_id}-{number}")


def queue_secret(request_id: str) -> str:
    """The Secret with which a function's workers reach the queue."""
    return _within_limit(f"queue-{request_id}")


def pool_unit(pool: str, number: int) -> str:
    """The stock unit of that number which a pool keeps."""
    return _within_limit(f"{pool}-{number}")


def stock_unit(operation_id: str, ordinal: int) -> str:
    """The stock unit that an operation seeds at that ordinal."""
    return f"stock-{label_hash(operation_id)}-{ordinal}"


def operation(operation_id: str) -> str:
    """The Operation object of an id: the same for everybody, so its name is the lock."""
    return label_hash(operation_id)


def label_hash(text: str) -> str:
    """Any text as 32 characters that may be a label's value or an object's name."""
    return _digest(text)[:32]


def _within_limit(name: str) -> str:
    """`name`, or a cut of it with a hash; a name that looks cut is hashed as well.

    Otherwise somebody could choose a name that is the cut form of another.
    """
    if len(name) <= LONGEST and not _CUT.fullmatch(name):
        return name
    return f"{name[: LONGEST - _SUFFIX - 1]}-{_digest(name)[:_SUFFIX]}"


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode().lower()
