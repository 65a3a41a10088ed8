"""When repeated events are one series, and when the server must hear of it."""

from collections import OrderedDict
from dataclasses import replace
from datetime import UTC, datetime

from controller.runtime.events.series import (
    BURST,
    FINISH_SECONDS,
    REFILL_SECONDS,
    REFRESH_SECONDS,
    REMEMBERED,
    Bucket,
    Fact,
    Reference,
    Series,
    is_due,
    is_over,
    remember,
    repeated,
    saved,
    spent,
)

AT = datetime(2026, 11, 16, tzinfo=UTC)
LATER = datetime(2026, 11, 17, tzinfo=UTC)
THING = Reference("v1", "Thing", "here", "it", "uid-1", "100")
FACT = Fact(THING, "Warning", "Failed", "Reconcile", "no space left")


def a_series(seen_at: float = 0.0) -> Series:
    return Series("it.1", AT, AT, seen_at)


class TestEquality:
    def test_the_same_news_of_a_newer_version_of_the_object_is_the_same_fact(self) -> None:
        assert replace(FACT, regarding=replace(THING, resource_version="101")) == FACT

    def test_the_same_news_of_a_namesake_is_another_fact(self) -> None:
        assert replace(FACT, regarding=replace(THING, uid="uid-2")) != FACT

    def test_another_note_is_another_fact_because_a_written_note_cannot_change(self) -> None:
        assert replace(FACT, note="no memory left") != FACT


class TestWriting:
    def test_a_new_event_is_due_at_once(self) -> None:
        assert is_due(a_series(), 0)

    def test_a_written_event_is_never_due(self) -> None:
        written = saved(a_series(), 1, 0)
        assert not any(is_due(written, now) for now in (0, FINISH_SECONDS, REFRESH_SECONDS))

    def test_the_first_repeat_is_due_at_once(self) -> None:
        assert is_due(repeated(saved(a_series(), 1, 0), LATER, 5), 5)

    def test_later_repeats_wait_half_an_hour(self) -> None:
        series = saved(repeated(a_series(), AT, 0), 2, 0)
        assert not is_due(repeated(series, LATER, REFRESH_SECONDS - 1), REFRESH_SECONDS - 1)
        assert is_due(repeated(series, LATER, REFRESH_SECONDS), REFRESH_SECONDS)

    def test_repeats_that_wait_are_due_when_the_series_is_over(self) -> None:
        series = repeated(saved(repeated(a_series(), AT, 0), 2, 0), LATER, 10)
        assert not is_due(series, 10 + FINISH_SECONDS - 1)
        assert is_due(series, 10 + FINISH_SECONDS)
        assert not is_due(saved(series, 3, 10 + FINISH_SECONDS), 10 + 10 * REFRESH_SECONDS)

    def test_a_repeat_counts_and_remembers_when_it_happened(self) -> None:
        series = repeated(a_series(), LATER, 5)
        assert (series.count, series.first, series.last) == (2, AT, LATER)

    def test_a_series_is_over_after_six_minutes_of_silence(self) -> None:
        series = repeated(a_series(), LATER, 100)
        assert not is_over(series, 459)
        assert is_over(series, 460)


class TestLimit:
    def test_an_object_may_have_a_burst_of_new_events_and_then_one_in_five_minutes(self) -> None:
        bucket: Bucket | None = None
        for _ in range(int(BURST)):
            bucket = spent(bucket, 0)
        assert bucket is not None
        assert spent(bucket, REFILL_SECONDS - 1) is None
        bucket = spent(bucket, REFILL_SECONDS)
        assert bucket is not None
        assert spent(bucket, REFILL_SECONDS) is None

    def test_a_long_silence_earns_no_more_than_the_burst(self) -> None:
        assert spent(Bucket(0, 0), 1000 * REFILL_SECONDS) == Bucket(BURST - 1, 300_000)


class TestMemory:
    def test_the_entry_that_was_put_longest_ago_is_forgotten_first(self) -> None:
        table: OrderedDict[int, str] = OrderedDict()
        for number in (*range(REMEMBERED), 0, REMEMBERED):
            remember(table, number, "")
        assert len(table) == REMEMBERED
        assert (0 in table, 1 in table, REMEMBERED in table) == (True, False, True)
