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


def encoded(size: int) -> float:
    """Return the size in a record of a body of `size` bytes."""
    return size * 4 / 3


@pytest.mark.parametrize("most", [GIB, 64 * 1024**2, 1024**2])
@pytest.mark.parametrize("fullness", [0.0, 0.4, 0.79])
def test_every_accepted_invocation_has_space_for_its_outcome(most: int, fullness: float) -> None:
    taken, promised, opened = int(most * fullness), 0.0, 0
    while has_space(room := RecordCapacity(taken, most, opened)):
        promised += (
            RECORD_GROWTH_BYTES + encoded(max_inline_bytes(room)) - encoded(MIN_INLINE_BYTES)
        )
        opened += 1

    assert opened
    assert taken + promised <= most


def test_a_result_is_kept_in_its_record_while_few_are_open() -> None:
    assert max_inline_bytes(RecordCapacity(GIB // 2, GIB, 20)) == DEFAULT_INLINE_BYTES
    assert max_inline_bytes(RecordCapacity(GIB // 2, GIB, 20_000)) == MIN_INLINE_BYTES


def test_a_bucket_without_a_limit_is_never_full() -> None:
    room = RecordCapacity(GIB, 0, 1_000_000)
    assert (has_space(room), max_inline_bytes(room)) == (True, DEFAULT_INLINE_BYTES)


def test_open_records_count_with_their_future_size() -> None:
    assert has_space(RecordCapacity(GIB // 2, GIB, 1000))
    assert not has_space(RecordCapacity(GIB // 2, GIB, 50_000))
