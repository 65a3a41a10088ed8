"""The report that a worker writes every few seconds; it expires when the worker is gone."""

import msgspec

REPORT_INTERVAL_SECONDS = 10.0
REPORT_TTL_SECONDS = 30.0


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The load of a worker; `last_active` is in milliseconds since 1970."""

    running: int
    last_active: int
    version: str
    draining: bool = False


def encode_report(report: WorkerReport) -> bytes:
    """Encode a report as the bucket holds it."""
    return msgspec.json.encode(report)


def decode_report(value: bytes) -> WorkerReport:
    """Decode a report; raises msgspec.DecodeError."""
    return msgspec.json.decode(value, type=WorkerReport)
