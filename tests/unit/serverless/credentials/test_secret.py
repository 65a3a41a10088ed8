"""Tests of the queue's Secrets: missing values are generated, and existing ones never change."""

from base64 import b64decode

import nkeys

from serverless.credentials.secret import (
    CALLOUT_ISSUER,
    CALLOUT_SEED,
    NATS_USERS,
    WORKER_KEY,
    missing_values,
)


class Bytes:
    """Byte source with a different value per call, and the same values in each test."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, count: int) -> bytes:
        self._calls += 1
        return bytes([self._calls]) * count


def test_an_empty_secret_gets_every_key_and_no_value_twice() -> None:
    values = missing_values({}, Bytes())

    assert set(values) == {*NATS_USERS, WORKER_KEY, CALLOUT_SEED, CALLOUT_ISSUER}
    assert len(set(values.values())) == len(values)


def test_existing_secret_keys_are_kept() -> None:
    values = missing_values({}, Bytes())

    assert missing_values(values, Bytes()) == {}
    del values["runtime-api"]
    assert list(missing_values(values, Bytes())) == ["runtime-api"]


def test_the_issuer_is_the_public_half_of_the_seed() -> None:
    values = missing_values({}, Bytes())

    issuer = b64decode(values[CALLOUT_ISSUER])
    assert issuer == nkeys.from_seed(bytearray(b64decode(values[CALLOUT_SEED]))).public_key
    assert missing_values({**values, CALLOUT_ISSUER: "bm9uZQ=="}, Bytes()) == {
        CALLOUT_ISSUER: values[CALLOUT_ISSUER]
    }


def test_a_password_starts_with_a_letter_and_the_worker_key_has_32_bytes() -> None:
    values = missing_values({}, Bytes())

    assert all(b64decode(values[user]).startswith(b"p") for user in NATS_USERS)
    assert len(b64decode(b64decode(values[WORKER_KEY]))) == 32
