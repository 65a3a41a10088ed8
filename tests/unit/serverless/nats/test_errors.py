"""Tests of the error for each JetStream error code."""

import pytest

from serverless.nats.errors import (
    JetStreamApiError,
    JetStreamNotFoundError,
    QueueError,
    RevisionConflictError,
    StreamLimitError,
    api_error_of,
)


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        (10014, JetStreamNotFoundError),
        (10037, JetStreamNotFoundError),
        (10043, JetStreamNotFoundError),
        (10059, JetStreamNotFoundError),
        (10071, RevisionConflictError),
        (10164, RevisionConflictError),
        (10077, StreamLimitError),
        (10058, JetStreamApiError),
        (0, JetStreamApiError),
    ],
)
def test_each_jetstream_error_code_has_its_error_class(
    code: int, error_type: type[JetStreamApiError]
) -> None:
    error = api_error_of(code, "the reason")
    assert type(error) is error_type
    assert (error.code, str(error)) == (code, "the reason")


def test_a_worker_may_retry_after_every_error_code() -> None:
    assert all(isinstance(api_error_of(code, ""), QueueError) for code in range(10000, 10200))
