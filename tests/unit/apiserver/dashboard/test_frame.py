"""Tests of server-sent events in the format that browsers parse."""

from apiserver.dashboard.frame import encode_event, encode_retry


def test_an_event_has_an_id_a_name_and_data() -> None:
    assert encode_event("view", b'{"a":1}', "m1") == b'id: m1\nevent: view\ndata: {"a":1}\n\n'


def test_an_event_without_an_id_has_no_id_field() -> None:
    assert encode_event("beat", b"{}") == b"event: beat\ndata: {}\n\n"


def test_the_retry_field_has_the_reconnect_delay() -> None:
    assert encode_retry(2000) == b"retry: 2000\n\n"
