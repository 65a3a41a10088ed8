"""Tests of single flight: a value is fetched once for all concurrent callers."""

import asyncio

import pytest

from apiserver.single_flight import SingleFlightCache
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock


class Source:
    """Source that counts its calls and returns when the test allows it."""

    def __init__(self) -> None:
        self.fetches = 0
        self.permitted = asyncio.Event()
        self.error: Exception | None = None

    async def fetch(self) -> int:
        self.fetches += 1
        number = self.fetches
        await self.permitted.wait()
        if self.error:
            raise self.error
        return number


async def test_concurrent_callers_share_one_fetch_and_later_callers_fetch_again() -> None:
    clock, source = AutoAdvanceClock(), Source()
    values = SingleFlightCache[int](clock, 5.0)
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(values.get("a", source.fetch)) for _ in range(3)]
        await asyncio.sleep(0)
        source.permitted.set()
    assert [caller.result() for caller in callers] == [1, 1, 1]
    clock.advance(4.9)
    assert await values.get("a", source.fetch) == 1
    clock.advance(0.1)
    assert await values.get("a", source.fetch) == 2


async def test_a_failed_fetch_raises_in_all_callers_and_is_not_cached() -> None:
    source = Source()
    source.error = ValueError("no")
    values = SingleFlightCache[int](AutoAdvanceClock(), 5.0)

    async def permit() -> str:
        source.permitted.set()
        return "permitted"

    callers = (values.get("a", source.fetch) for _ in range(3))
    results = await asyncio.gather(*callers, permit(), return_exceptions=True)
    assert [str(result) for result in results] == ["no", "no", "no", "permitted"]
    assert source.fetches == 1
    source.error = None
    assert await values.get("a", source.fetch) == 2


async def test_a_cancelled_fetch_is_repeated_by_the_next_caller() -> None:
    source = Source()
    values = SingleFlightCache[int](AutoAdvanceClock(), 5.0)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(values.get("a", source.fetch))
        await asyncio.sleep(0)
        second = group.create_task(values.get("a", source.fetch))
        await asyncio.sleep(0)
        first.cancel()
        source.permitted.set()
    with pytest.raises(asyncio.CancelledError):
        first.result()
    assert second.result() == 2
