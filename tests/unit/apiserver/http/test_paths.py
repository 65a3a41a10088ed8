"""Tests of URL paths: each path identifies its resource."""

import pytest

from apiserver.http import paths


@pytest.mark.parametrize(
    ("operation_id", "segment"),
    [
        ("order-4711", "order-4711"),
        ("fn/uid/3", "fn%2Fuid%2F3"),
        ("a b?c#d%e", "a%20b%3Fc%23d%25e"),
        ("é{}", "%C3%A9%7B%7D"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("v1.2", "v1.2"),
    ],
)
def test_an_operation_id_becomes_one_segment_of_a_path(operation_id: str, segment: str) -> None:
    assert paths.job_path(operation_id) == f"/api/v1/operator/jobs/{segment}"
