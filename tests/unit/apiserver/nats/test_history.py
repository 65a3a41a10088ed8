"""Tests of the search for a stream's last messages: the cost does not grow with the stream."""

from hypothesis import given
from hypothesis import strategies as st

from apiserver.nats.history import find_start_sequence

MAX_COUNTS = 80


class Stream:
    """Stream with messages at some sequences; counts its calls."""

    def __init__(self, sequences: set[int]) -> None:
        self.sequences = sequences
        self.counts = 0

    def before(self, end: int) -> "Stream":
        return Stream({sequence for sequence in self.sequences if sequence < end})

    async def count_from(self, first: int) -> int:
        self.counts += 1
        return sum(sequence >= first for sequence in self.sequences)


@given(
    st.sets(st.integers(1, 10_000), max_size=300),
    st.integers(1, 10_001),
    st.integers(1, 50),
)
async def test_the_last_messages_are_found_anywhere_in_the_stream(
    sequences: set[int], end: int, limit: int
) -> None:
    stream = Stream(sequences).before(end)
    first = await find_start_sequence(stream.count_from, 1, end, limit)
    count = sum(sequence >= first for sequence in stream.sequences)
    assert count <= limit
    assert count * 2 >= min(limit, len(stream.sequences)) or first == 1
    assert stream.counts <= MAX_COUNTS


async def test_a_few_messages_before_a_long_gap_are_found() -> None:
    stream = Stream(set(range(1, 11)))
    first = await find_start_sequence(stream.count_from, 1, 10**9, 4)
    assert 2 <= await stream.count_from(first) <= 4
    assert stream.counts <= MAX_COUNTS
