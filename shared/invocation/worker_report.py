"""What a worker tells of itself every few seconds, and forgets to when it is gone."""

import msgspec

REPORT_INTERVAL_SECONDS = 10.0
REPORT_TTL_SECONDS = 30.0


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How busy a worker is; `last_active` is in milliseconds since 1970."""

    running: int
    last_active: int
    version: str
    draining: bool = False


def encode_report(report: WorkerReport) -> bytes:
    """The report as the bucket holds it."""
    return msgspec.json.encode(report)


def decode_report(value: bytes) -> WorkerReport:
    """Read a report, or raise msgspec.DecodeError."""
    return msgspec.json.decode(value, type=WorkerReport)
