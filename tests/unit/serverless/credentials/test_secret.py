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
    made = missing_values({}, Bytes())

    assert set(made) == {*NATS_USERS, WORKER_KEY, CALLOUT_SEED, CALLOUT_ISSUER}
    assert len(set(made.values())) == len(made)


def test_existing_secret_keys_are_kept() -> None:
    made = missing_values({}, Bytes())

    assert missing_values(made, Bytes()) == {}
    del made["runtime-api"]
    assert list(missing_values(made, Bytes())) == ["runtime-api"]


def test_the_issuer_is_the_public_half_of_the_seed() -> None:
    made = missing_values({}, Bytes())

    issuer = b64decode(made[CALLOUT_ISSUER])
    assert issuer == nkeys.from_seed(bytearray(b64decode(made[CALLOUT_SEED]))).public_key
    assert missing_values({**made, CALLOUT_ISSUER: "bm9uZQ=="}, Bytes()) == {
        CALLOUT_ISSUER: made[CALLOUT_ISSUER]
    }


def test_a_password_is_no_number_to_the_queue_and_a_key_is_32_bytes() -> None:
    made = missing_values({}, Bytes())

    assert all(b64decode(made[user]).startswith(b"p") for user in NATS_USERS)
    assert len(b64decode(b64decode(made[WORKER_KEY]))) == 32
