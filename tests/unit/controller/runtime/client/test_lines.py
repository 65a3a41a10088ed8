"""A stream of bytes becomes the same lines however the network cuts it."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.client.lines import LineSplitter

LINES = st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line), max_size=10)


def chunks(whole: bytes, cuts: list[int]) -> Iterator[bytes]:
    """The bytes cut at the given places."""
    ends = sorted(cut % (len(whole) + 1) for cut in cuts)
    for start, end in zip([0, *ends], [*ends, len(whole)], strict=True):
        yield whole[start:end]


@given(LINES, st.binary().filter(lambda rest: b"\n" not in rest), st.lists(st.integers(0, 10_000)))
def test_any_chunking_gives_the_same_lines(
    lines: list[bytes], rest: bytes, cuts: list[int]
) -> None:
    whole = b"".join(line + b"\n" for line in lines) + rest
    splitter = LineSplitter()
    found = [line for chunk in chunks(whole, cuts) for line in splitter.feed(chunk)]
    assert found == lines


def test_a_line_is_given_out_with_the_chunk_that_ends_it() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.feed(b"o") == []
    assert splitter.feed(b"\n\nthree\n") == [b"two", b"three"]


def test_a_line_of_many_chunks_is_joined_once() -> None:
    """Joined chunk by chunk these ten megabytes would be half a terabyte of copies."""
    splitter = LineSplitter()
    piece = b"x" * 100
    for _ in range(100_000):
        assert splitter.feed(piece) == []
    assert [len(line) for line in splitter.feed(b"\n")] == [10_000_000]
