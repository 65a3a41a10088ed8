"""Tests of Event series: when repeated Events form one, and when the server gets an update."""

from collections import OrderedDict
from dataclasses import replace
from datetime import UTC, datetime

from controller.runtime.events.series import (
    EVENT_BURST,
    MAX_REMEMBERED,
    SERIES_FINISH_SECONDS,
    SERIES_REFRESH_SECONDS,
    TOKEN_REFILL_SECONDS,
    EventContent,
    EventSeries,
    EventTokenBucket,
    ObjectReference,
    is_finished,
    is_write_due,
    put_bounded,
    take_token,
    with_repeat,
    with_written,
)

AT = datetime(2026, 11, 16, tzinfo=UTC)
LATER = datetime(2026, 11, 17, tzinfo=UTC)
THING = ObjectReference("v1", "Thing", "here", "it", "uid-1", "100")
CONTENT = EventContent(THING, "Warning", "Failed", "Reconcile", "no space left")


def new_series(seen_at: float = 0.0) -> EventSeries:
    return EventSeries("it.1", AT, AT, seen_at)


class TestEquality:
    def test_an_event_of_a_newer_resource_version_is_equal(self) -> None:
        assert replace(CONTENT, regarding=replace(THING, resource_version="101")) == CONTENT

    def test_an_event_of_a_recreated_object_is_not_equal(self) -> None:
        assert replace(CONTENT, regarding=replace(THING, uid="uid-2")) != CONTENT

    def test_an_event_with_another_note_is_not_equal(self) -> None:
        assert replace(CONTENT, note="no memory left") != CONTENT


class TestWriting:
    def test_a_new_event_is_due_at_once(self) -> None:
        assert is_write_due(new_series(), 0)

    def test_a_written_event_is_never_due(self) -> None:
        written = with_written(new_series(), 1, 0)
        assert not any(
            is_write_due(written, now) for now in (0, SERIES_FINISH_SECONDS, SERIES_REFRESH_SECONDS)
        )

    def test_the_first_repeat_is_due_at_once(self) -> None:
        assert is_write_due(with_repeat(with_written(new_series(), 1, 0), LATER, 5), 5)

    def test_later_repeats_wait_half_an_hour(self) -> None:
        series = with_written(with_repeat(new_series(), AT, 0), 2, 0)
        assert not is_write_due(
            with_repeat(series, LATER, SERIES_REFRESH_SECONDS - 1), SERIES_REFRESH_SECONDS - 1
        )
        assert is_write_due(
            with_repeat(series, LATER, SERIES_REFRESH_SECONDS), SERIES_REFRESH_SECONDS
        )

    def test_unwritten_repeats_are_due_at_the_end_of_the_series(self) -> None:
        series = with_repeat(with_written(with_repeat(new_series(), AT, 0), 2, 0), LATER, 10)
        assert not is_write_due(series, 10 + SERIES_FINISH_SECONDS - 1)
        assert is_write_due(series, 10 + SERIES_FINISH_SECONDS)
        assert not is_write_due(
            with_written(series, 3, 10 + SERIES_FINISH_SECONDS), 10 + 10 * SERIES_REFRESH_SECONDS
        )

    def test_a_repeat_increases_the_count_and_sets_its_time(self) -> None:
        series = with_repeat(new_series(), LATER, 5)
        assert (series.count, series.first_observed, series.last_observed) == (2, AT, LATER)

    def test_a_series_is_over_after_six_minutes_of_silence(self) -> None:
        series = with_repeat(new_series(), LATER, 100)
        assert not is_finished(series, 459)
        assert is_finished(series, 460)


class TestLimit:
    def test_an_object_may_have_a_burst_of_new_events_and_then_one_in_five_minutes(self) -> None:
        bucket: EventTokenBucket | None = None
        for _ in range(int(EVENT_BURST)):
            bucket = take_token(bucket, 0)
        assert bucket is not None
        assert take_token(bucket, TOKEN_REFILL_SECONDS - 1) is None
        bucket = take_token(bucket, TOKEN_REFILL_SECONDS)
        assert bucket is not None
        assert take_token(bucket, TOKEN_REFILL_SECONDS) is None

    def test_the_token_bucket_never_exceeds_its_burst(self) -> None:
        assert take_token(EventTokenBucket(0, 0), 1000 * TOKEN_REFILL_SECONDS) == EventTokenBucket(
            EVENT_BURST - 1, 300_000
        )


class TestBoundedTable:
    def test_a_full_table_drops_its_oldest_entry(self) -> None:
        table: OrderedDict[int, str] = OrderedDict()
        for number in (*range(MAX_REMEMBERED), 0, MAX_REMEMBERED):
            put_bounded(table, number, "")
        assert len(table) == MAX_REMEMBERED
        assert (0 in table, 1 in table, MAX_REMEMBERED in table) == (True, False, True)
