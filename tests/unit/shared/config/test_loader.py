"""Tests of the configuration loader: strict parsing; all errors are reported at once."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from shared.config.address import Address
from shared.config.duration import Duration
from shared.config.loader import ConfigKey, ConfigurationError, config_keys, flag_name, load_config


class Queue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    url: Annotated[str, msgspec.Meta(description="Where the queue is.")] = ""
    password_file: Path = Path("/run/password")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    http_addr: Address = Address("127.0.0.1", 8080)
    kube_mode: Literal["auto", "off", "required"] = "required"
    interval: Duration = Duration(60)
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    verbose: bool = False
    names: list[str] = msgspec.field(default_factory=list)
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    queue: Queue = Queue()


def load_text(directory: Path, text: str, **flags: str) -> Settings:
    path = directory / "settings.yaml"
    path.write_text(text)
    return load_config(Settings, path, flags)


def problems_of(directory: Path, text: str, **flags: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_text(directory, text, **flags)
    return str(caught.value).splitlines()


def test_without_a_file_every_key_has_its_default() -> None:
    assert load_config(Settings, None, {}) == Settings()


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "queue:\n"])
def test_an_empty_file_or_section_has_the_defaults(tmp_path: Path, text: str) -> None:
    assert load_text(tmp_path, text) == Settings()


def test_every_kind_of_value_is_read_from_a_file(tmp_path: Path) -> None:
    text = """
        httpAddr: ":9090"
        kubeMode: auto
        interval: 1h30m
        workers: 8
        verbose: true
        names: [a, b]
        limits: {a: 1}
        queue: {url: "nats://q:4222", passwordFile: /run/other}
    """
    assert load_text(tmp_path, text) == Settings(
        http_addr=Address("", 9090),
        kube_mode="auto",
        interval=Duration(5400),
        workers=8,
        verbose=True,
        names=["a", "b"],
        limits={"a": 1},
        queue=Queue(url="nats://q:4222", password_file=Path("/run/other")),
    )


def test_an_unquoted_off_is_the_word_off_and_not_a_boolean(tmp_path: Path) -> None:
    assert load_text(tmp_path, "kubeMode: off").kube_mode == "off"


def test_a_flag_overrides_the_file(tmp_path: Path) -> None:
    settings = load_text(tmp_path, "workers: 8", workers="2", verbose="true", interval="5s")
    assert (settings.workers, settings.verbose, settings.interval) == (2, True, Duration(5))


def test_a_flag_overrides_one_key_of_a_section(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("queue: {url: a, passwordFile: /b}")
    settings = load_config(Settings, path, {"queue.url": "c"})
    assert settings.queue == Queue(url="c", password_file=Path("/b"))


def test_a_problem_with_a_flag_has_the_name_of_the_flag(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "workers: 8", workers="many") == [
        "--workers: got 'many', expected a whole number from 1 to 64"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kubeMode: maybe", "kubeMode: got 'maybe', expected one of auto, off, required"),
        ("kubeMode: yes", "kubeMode: got True, expected one of auto, off, required"),
        ("workers: 0", "workers: got 0, expected a whole number from 1 to 64"),
        ("workers: '8'", "workers: got '8', expected a whole number from 1 to 64"),
        ("workers: 1.5", "workers: got 1.5, expected a whole number from 1 to 64"),
        ("verbose: 1", "verbose: got 1, expected true or false"),
        ("verbose:", "verbose: got an empty value, expected true or false"),
        ("queue: {url: 5}", "queue.url: got 5, expected text"),
        ("queue: {passwordFile: 5}", "queue.passwordFile: got 5, expected the path of a file"),
        ("queue: nats", "queue: got 'nats', expected a mapping of keys"),
        ("names: a", "names: got 'a', expected a list"),
        ("limits: {a: b}", "limits: got {'a': 'b'}, expected a mapping (Expected `int`, got `str`"),
        ("interval: 60", "interval: got 60, expected a duration above zero such as 500ms, 1s"),
        ("interval: 0s", "interval: got '0s', expected a duration above zero such as 500ms"),
    ],
)
def test_a_problem_with_a_value_has_the_key_the_value_and_the_accepted_values(
    tmp_path: Path, text: str, problem: str
) -> None:
    (reported,) = problems_of(tmp_path, text)
    assert reported.startswith(problem)


def test_an_unknown_key_is_reported_with_the_most_similar_key(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "httpAdr: x\nqueue: {ulr: x}") == [
        "httpAdr: unknown key; did you mean httpAddr?",
        "queue.ulr: unknown key; did you mean queue.url?",
    ]


def test_an_unknown_key_without_a_similar_key_is_reported_with_all_keys(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "queue: {zzz: x}") == [
        "queue.zzz: unknown key; use one of url, passwordFile"
    ]


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    assert len(problems_of(tmp_path, "workers: 0\nverbose: 7\nqueue: {url: 5}\nnope: 1")) == 4


def test_a_long_value_is_truncated_in_the_message(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, f"workers: {'x' * 5000}")
    assert len(problem) < 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1", "invalid YAML: "),
        ("\tworkers: 1", "invalid YAML: "),
        ("- 1", "expected a mapping of keys, got [1]"),
        ("just text", "expected a mapping of keys, got 'just text'"),
    ],
)
def test_a_file_that_is_not_a_mapping_of_keys_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith(f"{tmp_path / 'settings.yaml'}: {reason}")


def test_a_file_that_is_not_utf8_is_invalid_yaml(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"workers: \x80")
    with pytest.raises(ConfigurationError, match="invalid YAML"):
        load_config(Settings, tmp_path / "binary", {})


def test_a_missing_file_is_reported_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml: file not found"):
        load_config(Settings, tmp_path / "absent.yaml", {})


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        load_config(Settings, tmp_path, {})


@pytest.mark.parametrize(
    ("key", "name"),
    [("httpAddr", "--http-addr"), ("kubeconfig", "--kubeconfig"), ("queue.url", "--queue-url")],
)
def test_a_flag_is_named_after_its_key(key: str, name: str) -> None:
    assert flag_name(key) == name


def test_keys_are_listed_for_the_documentation() -> None:
    listed = {key.name: key for key in config_keys(Settings)}
    assert list(listed) == [
        *("httpAddr", "kubeMode", "interval", "workers", "verbose", "names", "limits"),
        *("queue.url", "queue.passwordFile"),
    ]
    assert listed["workers"] == ConfigKey("workers", "a whole number from 1 to 64", "4", "")
    assert listed["queue.url"] == ConfigKey("queue.url", "text", '""', "Where the queue is.")
    assert listed["kubeMode"].default == "required"
