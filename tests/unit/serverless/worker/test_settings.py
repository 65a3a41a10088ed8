"""Tests of a worker's settings: strict parsing of the environment; all errors at once."""

import pytest

from serverless.nats.credentials import NATSCredentials, redact_url
from serverless.worker.intervals import Intervals
from serverless.worker.settings import WorkerSettings, from_environment
from shared.config.loader import ConfigurationError
from shared.invocation.queue_names import QueueNames

REQUIRED = {
    "GPU_RUNTIME_REQUEST_ID": "fn",
    "GPU_RUNTIME_WORKER": "fn-1",
    "GPU_RUNTIME_QUEUE_SECRET": "/etc/gpu-runtime/queue",
}


def test_three_environment_variables_are_enough() -> None:
    assert from_environment(REQUIRED) == WorkerSettings(function_name="fn", worker="fn-1")


def test_nats_names_are_configurable() -> None:
    environment = REQUIRED | {"GPU_RUNTIME_QUEUE_NAMES": '{"prefix": "p"}'}
    assert from_environment(environment).queue_names == QueueNames(prefix="p")


def test_every_configuration_problem_is_listed() -> None:
    environment = {
        "GPU_RUNTIME_CONCURRENCY": "0",
        "GPU_RUNTIME_TIMEOUT_SECONDS": "-1",
        "GPU_RUNTIME_HTTP_ADDR": "nowhere",
        "GPU_RUNTIME_QUEUE_NAMES": "[",
    }
    with pytest.raises(ConfigurationError) as raised:
        from_environment(environment)
    names = [line.partition(":")[0] for line in str(raised.value).splitlines()]
    assert sorted(names) == sorted([*environment, *REQUIRED])


@pytest.mark.parametrize(
    ("user", "uid"),
    [("worker.fn.3f2a-77", "3f2a-77"), ("admin", ""), ("", ""), ("worker.fn", "")],
)
def test_the_function_uid_is_parsed_from_the_user_name(user: str, uid: str) -> None:
    assert NATSCredentials("nats://q", user).function_uid == uid


def test_a_url_is_shown_without_its_password() -> None:
    assert redact_url("nats://admin:secret@q:4222") == "nats://q:4222"


def test_retry_intervals_grow_up_to_a_maximum() -> None:
    intervals = Intervals(retry_seconds=1.0, max_retry_seconds=30.0)
    assert [intervals.retry_delay_seconds(failures) for failures in (0, 1, 2, 3, 6, 999)] == [
        1,
        1,
        2,
        4,
        30,
        30,
    ]
