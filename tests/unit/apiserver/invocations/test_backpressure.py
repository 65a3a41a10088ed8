"""Tests of back-pressure: there is room for the outcomes of all accepted invocations."""

import pytest

from apiserver.invocations.backpressure import (
    RECORD_GROWTH_BYTES,
    RecordCapacity,
    has_space,
    max_inline_bytes,
)
from shared.invocation.limits import DEFAULT_INLINE_BYTES, MIN_INLINE_BYTES

GIB = 1024**3


def base64_size(size: int) -> float:
    """Return the size in a record of a body of `size` bytes."""
    return size * 4 / 3


@pytest.mark.parametrize("max_bytes", [GIB, 64 * 1024**2, 1024**2])
@pytest.mark.parametrize("fill_ratio", [0.0, 0.4, 0.79])
def test_every_accepted_invocation_has_space_for_its_outcome(
    max_bytes: int, fill_ratio: float
) -> None:
    used, reserved, open_records = int(max_bytes * fill_ratio), 0.0, 0
    while has_space(capacity := RecordCapacity(used, max_bytes, open_records)):
        reserved += (
            RECORD_GROWTH_BYTES
            + base64_size(max_inline_bytes(capacity))
            - base64_size(MIN_INLINE_BYTES)
        )
        open_records += 1

    assert open_records
    assert used + reserved <= max_bytes


def test_a_result_is_kept_in_its_record_while_few_are_open() -> None:
    assert max_inline_bytes(RecordCapacity(GIB // 2, GIB, 20)) == DEFAULT_INLINE_BYTES
    assert max_inline_bytes(RecordCapacity(GIB // 2, GIB, 20_000)) == MIN_INLINE_BYTES


def test_a_bucket_without_a_limit_is_never_full() -> None:
    capacity = RecordCapacity(GIB, 0, 1_000_000)
    assert (has_space(capacity), max_inline_bytes(capacity)) == (True, DEFAULT_INLINE_BYTES)


def test_open_records_count_with_their_future_size() -> None:
    assert has_space(RecordCapacity(GIB // 2, GIB, 1000))
    assert not has_space(RecordCapacity(GIB // 2, GIB, 50_000))
