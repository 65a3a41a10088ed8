"""Queue names and stream configurations of release 0.1.0 (commit 0e22fbe).

That release made the data file. The streams of an installation are never created again, so a later
release must configure exactly these streams, and must find its data under these names.
"""

from typing import Any

import msgspec
import pytest

from serverless.resultstore import consumer as resultstore_consumer
from shared.invocation import queue_names
from shared.invocation.jetstream import object_chunk_subject, object_info_subject
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import (
    StreamLimits,
    body_bucket_config,
    consumer_config,
    stream_configs,
)
from tests.unit.golden.data import Case, cases, plain


def layout(given: dict[str, Any]) -> Any:
    """Return the streams and consumers of a configuration and of one function in it."""
    names = msgspec.convert(given["names"], QueueNames)
    limits = msgspec.convert(given["limits"], StreamLimits)
    return plain(
        {
            "names": names,
            "streams": stream_configs(names, limits),
            "bodies": body_bucket_config(names, limits, "echo"),
            "consumer of one worker": consumer_config(names, "echo", 1),
            "consumer of many workers": consumer_config(names, "echo", 1000),
            "consumer of the result store": resultstore_consumer.consumer_config(names),
        }
    )


def places(given: dict[str, Any]) -> dict[str, str]:
    """Return every subject, key and object name of one invocation."""
    names, ids = msgspec.convert(given["names"], QueueNames), given["ids"]
    bucket = names.body_bucket_name(ids[0])
    return {
        "call": names.call_subject(*ids),
        "calls": names.call_filter(ids[0]),
        "result": names.result_subject(ids[0]),
        "dead letter": names.dead_letter_subject(ids[0]),
        "nudge": names.cancellation_subject(ids[0]),
        "bodies": bucket,
        "chunk of a body": object_chunk_subject(bucket, "id"),
        "name of a body": object_info_subject(bucket, "uid.order-1.request"),
        "record": names.record_subject(queue_names.record_key(*ids)),
        "worker": queue_names.worker_report_key(ids[0], "echo-1"),
        "consumer": queue_names.consumer_name(ids[0]),
        "request object": queue_names.request_object_name("uid", ids[1]),
        "result object": queue_names.result_object_name("uid", ids[1], 2, 3),
    }


@pytest.mark.parametrize("case", cases("queue_names", "layouts"))
def test_streams_and_buckets_are_those_of_the_release(case: Case) -> None:
    assert layout(case.given) == case.made


@pytest.mark.parametrize("case", cases("queue_names", "places"))
def test_subjects_and_keys_are_those_of_the_release(case: Case) -> None:
    assert places(case.given) == case.made
