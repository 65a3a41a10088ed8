"""Tests of the auth callout: the workers it admits and its response; NATS checks the signature."""

from typing import Any

import nkeys
import pytest

from serverless.activator.auth.auth_callout import CalloutPolicy, callout_response
from serverless.activator.auth.jwt import InvalidTokenError, TokenSigner, decode_claims
from serverless.activator.auth.permissions import publish_subjects, subscribe_subjects
from serverless.activator.auth.worker_credentials import WorkerUser, parse_worker_user
from shared.invocation.queue_names import QueueNames

SEED = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_ACCOUNT).decode()
KEY = b"key"
USER = WorkerUser("fn", "uid-1")
POLICY = CalloutPolicy(KEY, "WORKERS", QueueNames(), lambda user: user == USER)


def connect_request(user: str, password: str) -> dict[str, Any]:
    return {
        "server_id": {"id": "SERVER"},
        "user_nkey": "UKEY",
        "connect_opts": {"user": user, "pass": password},
    }


def callout_claims(user: str, password: str) -> dict[str, Any]:
    return decode_claims(
        callout_response(connect_request(user, password), POLICY, TokenSigner(SEED), 9).encode()
    )


def test_a_worker_gets_a_token_of_its_account_and_permissions() -> None:
    response = callout_claims(USER.name, USER.password(KEY))
    assert (response["aud"], response["sub"], response["iat"]) == ("SERVER", "UKEY", 9)
    token = decode_claims(response["nats"]["jwt"].encode())
    assert (token["aud"], token["sub"], token["name"]) == ("WORKERS", "UKEY", USER.name)
    assert token["nats"]["pub"] == {"allow": publish_subjects(USER, QueueNames())}
    assert token["nats"]["sub"] == {"allow": subscribe_subjects(USER, QueueNames())}


@pytest.mark.parametrize(
    ("user", "password"),
    [
        (USER.name, "wrong"),
        (USER.name, ""),
        ("admin", USER.password(KEY)),
        ("worker.fn", USER.password(KEY)),
        (WorkerUser("fn", "uid-2").name, WorkerUser("fn", "uid-2").password(KEY)),
        (WorkerUser("fn", "uid-1").name, WorkerUser("fn", "uid-1").password(b"another key")),
    ],
)
def test_unknown_workers_get_no_token(user: str, password: str) -> None:
    response = callout_claims(user, password)["nats"]
    assert "jwt" not in response
    assert response["error"]


def test_a_user_name_is_parsed_to_its_worker_user() -> None:
    assert parse_worker_user(USER.name) == USER
    assert parse_worker_user("worker.") is None


def test_no_two_functions_share_a_subject() -> None:
    names = QueueNames()
    own_subjects = {*publish_subjects(USER, names), *subscribe_subjects(USER, names)}
    for other_user in (WorkerUser("fn-1", "uid-1"), WorkerUser("f", "uid-1")):
        other_subjects = {
            *publish_subjects(other_user, names),
            *subscribe_subjects(other_user, names),
        }
        assert own_subjects & other_subjects == set()


@pytest.mark.parametrize("token", [b"", b"a.b", b"\xff.\xff.\xff", b"a.WzFd.c"])
def test_a_malformed_token_is_refused(token: bytes) -> None:
    with pytest.raises(InvalidTokenError):
        decode_claims(token)


def test_an_invalid_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        TokenSigner("no seed")
