"""The end of a stream is found by counting, at a cost that does not grow with the stream."""

from hypothesis import given
from hypothesis import strategies as st

from apiserver.nats.history import find_start_sequence

MOST_COUNTS = 80


class Stream:
    """Messages at some places of a stream; counts how often it is asked."""

    def __init__(self, places: set[int]) -> None:
        self.places = places
        self.counts = 0

    def below(self, top: int) -> "Stream":
        return Stream({place for place in self.places if place < top})

    async def left_from(self, first: int) -> int:
        self.counts += 1
        return sum(place >= first for place in self.places)


@given(
    st.sets(st.integers(1, 10_000), max_size=300),
    st.integers(1, 10_001),
    st.integers(1, 50),
)
async def test_the_last_messages_are_found_anywhere_in_the_stream(
    places: set[int], top: int, most: int
) -> None:
    stream = Stream(places).below(top)
    first = await find_start_sequence(stream.left_from, 1, top, most)
    left = sum(place >= first for place in stream.places)
    assert left <= most
    assert left * 2 >= min(most, len(stream.places)) or first == 1
    assert stream.counts <= MOST_COUNTS


async def test_a_few_old_messages_under_a_long_silence_are_found() -> None:
    stream = Stream(set(range(1, 11)))
    first = await find_start_sequence(stream.left_from, 1, 10**9, 4)
    assert 2 <= await stream.left_from(first) <= 4
    assert stream.counts <= MOST_COUNTS
