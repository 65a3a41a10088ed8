"""The environment of a worker's container."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from serverless.worker.framework.client import FrameworkEndpoint
from shared.config.address import Address
from shared.config.loader import ConfigurationError
from shared.invocation import framework_protocol
from shared.invocation.queue_names import QueueNames

MAX_CONCURRENCY: Final = 1000
MAX_TIMEOUT_SECONDS: Final = 3570
DEFAULT_HTTP_ADDRESS: Final = "0.0.0.0:9809"


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one worker."""

    function_name: str
    worker: str
    concurrency: int = 1
    timeout_seconds: int = 300
    framework: FrameworkEndpoint = FrameworkEndpoint()
    credentials_directory: Path = Path("/etc/gpu-runtime/queue")
    http_addr: Address = Address.parse(DEFAULT_HTTP_ADDRESS)
    queue_names: QueueNames = QueueNames()


def from_environment(environment: Mapping[str, str]) -> WorkerSettings:
    """Read the settings; raises ConfigurationError with all problems."""
    problems: list[str] = []
    settings = WorkerSettings(
        function_name=_required(environment, "GPU_RUNTIME_REQUEST_ID", problems),
        worker=_required(environment, "GPU_RUNTIME_WORKER", problems),
        concurrency=_number(environment, "GPU_RUNTIME_CONCURRENCY", 1, MAX_CONCURRENCY, problems),
        timeout_seconds=_number(
            environment, "GPU_RUNTIME_TIMEOUT_SECONDS", 300, MAX_TIMEOUT_SECONDS, problems
        ),
        framework=FrameworkEndpoint(
            environment.get("GPU_RUNTIME_SOCKET") or framework_protocol.SOCKET_PATH,
            environment.get("GPU_RUNTIME_INVOKE_PATH") or framework_protocol.INVOKE_PATH,
            environment.get("GPU_RUNTIME_HEALTH_PATH") or framework_protocol.HEALTH_PATH,
        ),
        credentials_directory=Path(_required(environment, "GPU_RUNTIME_QUEUE_SECRET", problems)),
        http_addr=_address(environment, problems),
        queue_names=_queue_names(environment, problems),
    )
    if problems:
        raise ConfigurationError(*problems)
    return settings


def _required(environment: Mapping[str, str], name: str, problems: list[str]) -> str:
    if not (value := environment.get(name, "")):
        problems.append(f"{name}: is not set")
    return value


def _number(
    environment: Mapping[str, str], name: str, default: int, maximum: int, problems: list[str]
) -> int:
    text = environment.get(name) or str(default)
    if text.isascii() and text.isdigit() and 1 <= int(text) <= maximum:
        return int(text)
    problems.append(f"{name}: {text!r} is not a number from 1 to {maximum}")
    return default


def _address(environment: Mapping[str, str], problems: list[str]) -> Address:
    try:
        return Address.parse(environment.get("GPU_RUNTIME_HTTP_ADDR") or DEFAULT_HTTP_ADDRESS)
    except ValueError as error:
        problems.append(f"GPU_RUNTIME_HTTP_ADDR: {error}")
        return Address.parse(DEFAULT_HTTP_ADDRESS)


def _queue_names(environment: Mapping[str, str], problems: list[str]) -> QueueNames:
    try:
        return msgspec.json.decode(
            environment.get("GPU_RUNTIME_QUEUE_NAMES") or "{}", type=QueueNames
        )
    except msgspec.DecodeError as error:
        problems.append(f"GPU_RUNTIME_QUEUE_NAMES: {error}")
        return QueueNames()
