"""The configurations of the streams and buckets in the form of JetStream's own API."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from shared.config.duration import Duration
from shared.invocation.limits import ACK_WAIT_SECONDS
from shared.invocation.queue_names import QueueNames, consumer_name
from shared.invocation.worker_report import REPORT_TTL_SECONDS

_NANOSECONDS_PER_SECOND: Final = 1_000_000_000
_DUPLICATE_WINDOW_SECONDS: Final = 120
# The sweep must still find a record whose time to live is the whole retention.
SWEEP_GRACE_SECONDS: Final = 600

JetStreamConfig = dict[str, Any]


class StreamLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size, the retention and the replicas of the queue's streams."""

    replicas: Annotated[int, Meta(description="Replicas of every stream.", ge=1, le=5)] = 1
    record_retention: Annotated[
        Duration,
        Meta(description="How long a record is kept after its last change; 10 minutes are added."),
    ] = Duration(72 * 3600)
    result_retention: Annotated[
        Duration, Meta(description="How long the stream keeps an outcome.")
    ] = Duration(72 * 3600)
    dead_letter_retention: Annotated[
        Duration, Meta(description="How long the stream keeps a dead letter.")
    ] = Duration(14 * 24 * 3600)
    max_queued_messages: Annotated[
        int, Meta(description="Maximum number of queued messages of all functions.", ge=1)
    ] = 1_000_000
    max_stream_bytes: Annotated[
        int,
        Meta(
            description="Maximum bytes of each: the work queue, the results, the dead letters "
            "and the records.",
            ge=1,
        ),
    ] = 1024**3


def stream_configs(names: QueueNames, limits: StreamLimits) -> tuple[JetStreamConfig, ...]:
    """Return the configuration of every stream that must exist before the first invocation."""
    return (
        _work_queue_config(names, limits),
        _log_stream_config(
            names.results_stream, f"{names.prefix}.result.*", limits.result_retention, limits
        ),
        _log_stream_config(
            names.dead_letter_stream, f"{names.prefix}.dlq.*", limits.dead_letter_retention, limits
        ),
        _key_value_config(names.record_bucket, _max_record_age(limits), limits),
        _key_value_config(names.worker_bucket, Duration(REPORT_TTL_SECONDS), limits)
        | {"max_bytes": -1},
    )


def body_bucket_config(
    names: QueueNames, limits: StreamLimits, function_name: str
) -> JetStreamConfig:
    """Return the configuration of a function's object bucket. Bodies outlive their records."""
    bucket = names.body_bucket_name(function_name)
    return _base_stream_config(f"OBJ_{bucket}", limits) | {
        "subjects": [f"$O.{bucket}.C.>", f"$O.{bucket}.M.>"],
        "discard": "new",
        "max_age": _to_nanoseconds(_max_record_age(limits)) * 2,
        "max_bytes": -1,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
    }


def consumer_config(names: QueueNames, function_name: str, max_workers: int) -> JetStreamConfig:
    """Return the configuration of the consumer from which all workers of a function pull."""
    return {
        "durable_name": consumer_name(function_name),
        "name": consumer_name(function_name),
        "filter_subject": names.call_filter(function_name),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": ACK_WAIT_SECONDS * _NANOSECONDS_PER_SECOND,
        "max_deliver": -1,
        "max_ack_pending": -1,
        "max_waiting": max(512, 2 * max_workers),
        "replay_policy": "instant",
    }


def _work_queue_config(names: QueueNames, limits: StreamLimits) -> JetStreamConfig:
    return _base_stream_config(names.invocations_stream, limits) | {
        "subjects": [f"{names.prefix}.invoke.*.*"],
        "retention": "workqueue",
        "discard": "new",
        "discard_new_per_subject": True,
        "max_msgs_per_subject": 1,
        "max_msgs": limits.max_queued_messages,
    }


def _log_stream_config(
    name: str, subject: str, max_age: Duration, limits: StreamLimits
) -> JetStreamConfig:
    return _base_stream_config(name, limits) | {
        "subjects": [subject],
        "discard": "old",
        "max_age": _to_nanoseconds(max_age),
        "allow_direct": True,
        "duplicate_window": _DUPLICATE_WINDOW_SECONDS * _NANOSECONDS_PER_SECOND,
    }


def _key_value_config(name: str, max_age: Duration, limits: StreamLimits) -> JetStreamConfig:
    return _base_stream_config(f"KV_{name}", limits) | {
        "subjects": [f"$KV.{name}.>"],
        "discard": "new",
        "max_age": _to_nanoseconds(max_age),
        "max_msgs_per_subject": 1,
        "allow_direct": True,
        "allow_rollup_hdrs": False,  # or a worker's message could remove those of all functions
        "deny_delete": True,
    }


def _max_record_age(limits: StreamLimits) -> Duration:
    return Duration(limits.record_retention.seconds + SWEEP_GRACE_SECONDS)


def _base_stream_config(name: str, limits: StreamLimits) -> JetStreamConfig:
    return {
        "name": name,
        "retention": "limits",
        "storage": "file",
        "num_replicas": limits.replicas,
        "max_bytes": limits.max_stream_bytes,
    }


def _to_nanoseconds(duration: Duration) -> int:
    return int(duration.seconds * _NANOSECONDS_PER_SECOND)
