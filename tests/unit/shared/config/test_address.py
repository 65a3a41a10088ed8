"""Tests of addresses: host:port, with the notations of Go programs."""

import pytest

from shared.config.address import Address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        (":8080", "", 8080),
        ("[::1]:8080", "::1", 8080),
        ("localhost:0", "localhost", 0),
        ("runtime-api.runtime-system.svc:65535", "runtime-api.runtime-system.svc", 65535),
    ],
)
def test_a_parsed_address_formats_to_the_same_text(text: str, host: str, port: int) -> None:
    address = Address.parse(text)
    assert address == Address(host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "8080", "localhost", "localhost:", "::1:80", "a b:80", "h:-1", "h:80/", "http://h:80"],
)
def test_an_invalid_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address such as 127\.0\.0\.1:8080"):
        Address.parse(text)


def test_a_port_above_65535_is_refused_with_its_number() -> None:
    with pytest.raises(ValueError, match=r"port 70000 is not in 0\.\.65535"):
        Address.parse("localhost:70000")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("[::]:80", "http://127.0.0.1:80"),
        ("[::1]:80", "http://[::1]:80"),
        ("example:80", "http://example:80"),
    ],
)
def test_the_url_of_a_wildcard_address_is_loopback(text: str, url: str) -> None:
    assert Address.parse(text).url == url


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [
        *((text, True) for text in ("127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "localhost:80")),
        *((text, False) for text in (":80", "0.0.0.0:80", "[::]:80", "10.0.0.1:80", "example:80")),
    ],
)
def test_only_loopback_addresses_are_loopback(text: str, is_loopback: bool) -> None:
    assert Address.parse(text).is_loopback is is_loopback
