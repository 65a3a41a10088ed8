"""However many are accepted and whatever they answer: their outcomes have room."""

import pytest

from apiserver.invocations.backpressure import GROWTH_BYTES, Room, inline_bytes, is_left
from shared.invocation.limits import INLINE_BYTES, LEAST_INLINE_BYTES

GIB = 1024**3


def encoded(size: int) -> float:
    """What a body of that size takes in a record."""
    return size * 4 / 3


@pytest.mark.parametrize("most", [GIB, 64 * 1024**2, 1024**2])
@pytest.mark.parametrize("fullness", [0.0, 0.4, 0.79])
def test_all_that_were_accepted_can_end_with_as_much_as_each_may_have(
    most: int, fullness: float
) -> None:
    taken, promised, opened = int(most * fullness), 0.0, 0
    while is_left(room := Room(taken, most, opened)):
        promised += GROWTH_BYTES + encoded(inline_bytes(room)) - encoded(LEAST_INLINE_BYTES)
        opened += 1

    assert opened
    assert taken + promised <= most


def test_a_result_is_kept_in_its_record_while_few_are_open() -> None:
    assert inline_bytes(Room(GIB // 2, GIB, 20)) == INLINE_BYTES
    assert inline_bytes(Room(GIB // 2, GIB, 20_000)) == LEAST_INLINE_BYTES


def test_a_bucket_without_a_limit_is_never_full() -> None:
    room = Room(GIB, 0, 1_000_000)
    assert (is_left(room), inline_bytes(room)) == (True, INLINE_BYTES)


def test_what_is_open_counts_with_what_it_will_take() -> None:
    assert is_left(Room(GIB // 2, GIB, 1000))
    assert not is_left(Room(GIB // 2, GIB, 50_000))
