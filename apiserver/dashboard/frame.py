"""What viewers are sent: the page as it was last seen, and how good that is."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from apiserver.dashboard.view import Overview
from apiserver.kube import errors as kube_errors


@dataclass(frozen=True, slots=True)
class Edition:
    """The page in JSON, when it was seen (monotonic seconds), and why it is not seen now.

    `mark` tells pages apart by what they say, so that it means the same on every replica.
    """

    body: bytes = b""
    mark: str = ""
    seen_at: float | None = None
    trouble: str = ""


class Beat(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A sign of life, with what a page cannot know by itself."""

    now: str
    age_seconds: float | None = None
    trouble: str = ""


def seen(view: Overview, now: float) -> Edition:
    """A fresh look."""
    body = msgspec.json.encode(view)
    return Edition(body, hashlib.sha256(body).hexdigest()[:16], now)


def unseen(edition: Edition, error: kube_errors.ClusterError) -> Edition:
    """A look that failed: the page stays, and grows old."""
    return replace(edition, trouble=str(error))


def beat(edition: Edition, now: datetime, monotonic: float) -> Beat:
    """What to say of an edition at this moment."""
    age = None if edition.seen_at is None else round(monotonic - edition.seen_at, 1)
    written = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Beat(now=written, age_seconds=age, trouble=edition.trouble)
