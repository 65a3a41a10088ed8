"""Names in the queue: subjects, streams, buckets, keys and objects."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.invocation.ids import is_function_name, is_invocation_id


class QueueNames(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The names in the queue; the API, the activator and the workers must agree on them."""

    prefix: Annotated[str, Meta(description="Prefix of all subjects.")] = "runtime.serverless"
    invocations_stream: Annotated[str, Meta(description="Stream of queued calls.")] = (
        "RUNTIME_INVOCATIONS"
    )
    results_stream: Annotated[str, Meta(description="Stream of outcomes.")] = "RUNTIME_RESULTS"
    dead_letter_stream: Annotated[str, Meta(description="Stream of dead letters.")] = "RUNTIME_DLQ"
    record_bucket: Annotated[str, Meta(description="Key-value bucket of records.")] = (
        "runtime-invocations"
    )
    worker_bucket: Annotated[str, Meta(description="Key-value bucket of worker reports.")] = (
        "runtime-workers"
    )
    body_bucket: Annotated[
        str, Meta(description="Object bucket of large bodies; `-<requestID>` is appended.")
    ] = "runtime-bodies"

    def call_subject(self, function_name: str, invocation_id: str) -> str:
        """Return the subject on which an invocation is queued; it holds at most one message."""
        return f"{self.prefix}.invoke.{function_name}.{invocation_id}"

    def call_filter(self, function_name: str) -> str:
        """Return the subject filter of a function's consumer."""
        return f"{self.prefix}.invoke.{function_name}.*"

    def result_subject(self, function_name: str) -> str:
        """Return the subject on which the outcomes of a function are published."""
        return f"{self.prefix}.result.{function_name}"

    def dead_letter_subject(self, function_name: str) -> str:
        """Return the subject on which the dead letters of a function are published."""
        return f"{self.prefix}.dlq.{function_name}"

    def cancellation_subject(self, function_name: str) -> str:
        """Return the subject on which workers get the id of a cancelled invocation.

        Delivery is not guaranteed.
        """
        return f"{self.prefix}.nudge.{function_name}"

    def body_bucket_name(self, function_name: str) -> str:
        """Return the name of the object bucket of a function."""
        return f"{self.body_bucket}-{function_name}"

    def record_subject(self, key: str) -> str:
        """Return the subject under which the changes of a record appear."""
        return f"$KV.{self.record_bucket}.{key}"


def consumer_name(function_name: str) -> str:
    """Return the name of the durable consumer of a function."""
    return function_name


def record_key(function_name: str, invocation_id: str) -> str:
    """Return the key of an invocation's record."""
    return f"{function_name}.{invocation_id}"


def parse_record_key(key: str) -> tuple[str, str]:
    """Split the key of a record into the requestID and the invocationID."""
    function_name, _, invocation_id = key.partition(".")
    return function_name, invocation_id


def is_record_key(key: str) -> bool:
    """Return whether a key can be that of an invocation's record. The bucket accepts any key."""
    function_name, invocation_id = parse_record_key(key)
    return is_function_name(function_name) and is_invocation_id(invocation_id)


def worker_report_key(function_name: str, worker: str) -> str:
    """Return the key of a worker's report."""
    return f"{function_name}.{worker}"


def request_object_name(function_uid: str, invocation_id: str) -> str:
    """Return the name of the object of an invocation's large payload, the same for every run."""
    return f"{function_uid}.{invocation_id}.request"


def result_object_name(function_uid: str, invocation_id: str, run: int, attempt: int) -> str:
    """Return the name of the object of one attempt's large result."""
    return f"{function_uid}.{invocation_id}.{run}.{attempt}.result"
