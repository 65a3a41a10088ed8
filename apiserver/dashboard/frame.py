"""What viewers are sent: the page as it was last seen, and how good that is."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from apiserver.dashboard.view import DashboardView
from apiserver.kube import errors as kube_errors


@dataclass(frozen=True, slots=True)
class DashboardFrame:
    """The page in JSON, when it was seen (monotonic seconds), and why it is not seen now.

    `mark` tells pages apart by what they say, so that it means the same on every replica.
    """

    body: bytes = b""
    digest: str = ""
    collected_at: float | None = None
    error: str = ""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A sign of life, with what a page cannot know by itself."""

    now: str
    age_seconds: float | None = None
    trouble: str = ""


def new_frame(view: DashboardView, now: float) -> DashboardFrame:
    """A fresh look."""
    body = msgspec.json.encode(view)
    return DashboardFrame(body, hashlib.sha256(body).hexdigest()[:16], now)


def stale_frame(frame: DashboardFrame, error: kube_errors.KubeError) -> DashboardFrame:
    """A look that failed: the page stays, and grows old."""
    return replace(frame, error=str(error))


def heartbeat(frame: DashboardFrame, now: datetime, monotonic: float) -> Heartbeat:
    """What to say of an edition at this moment."""
    age = None if frame.collected_at is None else round(monotonic - frame.collected_at, 1)
    written = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Heartbeat(now=written, age_seconds=age, trouble=frame.error)
