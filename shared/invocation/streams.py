"""The streams and buckets as JetStream's own API takes them."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from shared.config.duration import Duration
from shared.invocation.limits import ACK_WAIT_SECONDS
from shared.invocation.queue_names import QueueNames, consumer_of
from shared.invocation.worker_report import LIFE_SECONDS

_SECOND: Final = 1_000_000_000
_DUPLICATES_SECONDS: Final = 120
# A record whose time to live is all of the retention must still be there for the sweep.
SWEEP_SECONDS: Final = 600

Wire = dict[str, Any]


class StreamLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much the queue keeps, for how long, and on how many servers."""

    replicas: Annotated[int, Meta(description="Copies of every stream.", ge=1, le=5)] = 1
    record_retention: Annotated[
        Duration,
        Meta(description="How long a record is kept after its last change, and ten minutes more."),
    ] = Duration(72 * 3600)
    result_retention: Annotated[
        Duration, Meta(description="How long the stream of outcomes keeps one.")
    ] = Duration(72 * 3600)
    dead_letter_retention: Annotated[
        Duration, Meta(description="How long a dead letter is kept.")
    ] = Duration(14 * 24 * 3600)
    max_queued_messages: Annotated[
        int, Meta(description="Messages that the whole work queue holds.", ge=1)
    ] = 1_000_000
    max_stream_bytes: Annotated[
        int,
        Meta(
            description="Bytes that the work queue, the results, the dead letters and the "
            "records may take, each.",
            ge=1,
        ),
    ] = 1024**3


def streams(names: QueueNames, limits: StreamLimits) -> tuple[Wire, ...]:
    """Every stream that is there before the first invocation, in JetStream's own form."""
    return (
        _calls(names, limits),
        _log(names.results_stream, f"{names.prefix}.result.*", limits.result_retention, limits),
        _log(
            names.dead_letter_stream, f"{names.prefix}.dlq.*", limits.dead_letter_retention, limits
        ),
        _bucket(names.record_bucket, _record_age(limits), limits),
        _bucket(names.worker_bucket, Duration(LIFE_SECONDS), limits) | {"max_bytes": -1},
    )


def body_bucket(names: QueueNames, limits: StreamLimits, request_id: str) -> Wire:
    """The object bucket of one function; bodies outlive the records that name them."""
    bucket = names.bodies_of(request_id)
    return _stream(f"OBJ_{bucket}", limits) | {
        "subjects": [f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
        "discard": "new",
        "max_age": _nanoseconds(_record_age(limits)) * 2,
        "max_bytes": -1,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
    }


def consumer(names: QueueNames, request_id: str, max_workers: int) -> Wire:
    """The consumer from which all workers of a function pull."""
    return {
        "durable_name": consumer_of(request_id),
        "name": consumer_of(request_id),
        "filter_subject": names.calls_of(request_id),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_SECONDS * _SECOND,
        "max_deliver": -1,
        "max_ack_pending": -1,
        "max_waiting": max(512, 2 * max_workers),
        "replay_policy": "instant",
    }


def _calls(names: QueueNames, limits: StreamLimits) -> Wire:
    return _stream(names.invocations_stream, limits) | {
        "subjects": [f"{names.prefix}.invoke.*.*"],
        "retention": "workqueue",
        "discard": "new",
        "discard_new_per_subject": True,
        "max_msgs_per_subject": 1,
        "max_msgs": limits.max_queued_messages,
    }


def _log(name: str, subject: str, age: Duration, limits: StreamLimits) -> Wire:
    return _stream(name, limits) | {
        "subjects": [subject],
        "discard": "old",
        "max_age": _nanoseconds(age),
        "allow_direct": True,
        "duplicate_window": _DUPLICATES_SECONDS * _SECOND,
    }


def _bucket(name: str, age: Duration, limits: StreamLimits) -> Wire:
    return _stream(f"KV_{name}", limits) | {
        "subjects": [f"$KV.{name}.>"],
        "discard": "new",
        "max_age": _nanoseconds(age),
        "max_msgs_per_subject": 1,
        "allow_direct": True,
        "allow_rollup_hdrs": False,  # one message of a worker could remove those of all functions
        "deny_delete": True,
    }


def _record_age(limits: StreamLimits) -> Duration:
    return Duration(limits.record_retention.seconds + SWEEP_SECONDS)


def _stream(name: str, limits: StreamLimits) -> Wire:
    return {
        "name": name,
        "retention": "limits",
        "storage": "file",
        "num_replicas": limits.replicas,
        "max_bytes": limits.max_stream_bytes,
    }


def _nanoseconds(duration: Duration) -> int:
    return int(duration.seconds * _SECOND)
