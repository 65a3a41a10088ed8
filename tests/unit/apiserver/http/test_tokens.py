"""Tests of token files: parsing, and the reload of a changed file."""

from pathlib import Path

import pytest

from apiserver.http.tokens import POLL_SECONDS, InvalidTokensError, Role, TokenFile, TokenSet
from shared.config.loader import ConfigurationError
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock

OPERATORS, TENANTS, BOTH = "token-of-operators", "token_of.tenants~1==", "a-token-for-both"
TEXT = f"""
# of the pipeline
operator {OPERATORS}
  tenant-control-plane \t {TENANTS}
operator {BOTH}
tenant-control-plane {BOTH}
"""


@pytest.mark.parametrize(
    ("token", "roles"),
    [
        (OPERATORS, {Role.OPERATOR}),
        (TENANTS, {Role.TENANT_CONTROL_PLANE}),
        (BOTH, set(Role)),
        *((text, set()) for text in ("", OPERATORS[:-1], OPERATORS.upper(), "ö", "\udc80", "#")),
    ],
)
def test_a_token_has_the_roles_of_its_lines(token: str, roles: set[Role]) -> None:
    assert TokenSet.parse(TEXT).roles_of(token) == roles


def test_tokens_are_not_kept_in_plain_text() -> None:
    assert OPERATORS not in repr(TokenSet.parse(TEXT))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no token"),
        ("# operator none-of-the-tokens", "contains no token"),
        (f"\nadmin {OPERATORS}", "line 2 is invalid"),
        (OPERATORS, "line 1 is invalid"),
        (f"operator {OPERATORS} {OPERATORS}", "line 1 is invalid"),
        ("operator only-15-letters", "the token of line 1 must have at least 16"),
        (f"operator {OPERATORS}ö", "the token of line 1 must have at least 16"),
    ],
)
def test_a_malformed_token_file_is_refused_with_the_line_number(text: str, message: str) -> None:
    with pytest.raises(InvalidTokensError, match=message) as caught:
        TokenSet.parse(text)
    assert OPERATORS not in str(caught.value)


OLD, NEW = "the-old-operator-token", "the-new-operator-token"


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"operator {OLD}\n")
    return path


def replace_file(path: Path, content: bytes | None) -> None:
    """Write the content to a new file; only delete the file if the content is None."""
    path.unlink()
    if content is not None:
        path.write_bytes(content)


def clock_for_polls(count: int) -> AutoAdvanceClock:
    return AutoAdvanceClock(end_seconds=count * POLL_SECONDS)


async def test_a_replaced_token_is_no_longer_accepted(path: Path) -> None:
    file = TokenFile(str(path), clock := clock_for_polls(1))
    replace_file(path, f"operator {NEW}\n".encode())
    await clock.run_to_end(file.run())
    assert file.tokens.roles_of(NEW) == {Role.OPERATOR}
    assert not file.tokens.roles_of(OLD)


@pytest.mark.parametrize("content", [None, b"", b"operator short", b"\xff"])
async def test_an_invalid_token_file_is_logged_once_and_keeps_the_old_tokens(
    path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = TokenFile(str(path), clock := clock_for_polls(3))
    replace_file(path, content)
    await clock.run_to_end(file.run())
    assert file.tokens.roles_of(OLD) == {Role.OPERATOR}
    assert [record.message for record in caplog.records] == ["tokens_not_read"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such"), (b"operator", "line 1"), (b"\xff", "is not UTF-8")],
)
def test_an_invalid_token_file_at_the_start_is_a_configuration_error(
    path: Path, content: bytes | None, message: str
) -> None:
    replace_file(path, content)
    with pytest.raises(ConfigurationError, match=rf"auth.tokensFile: '.*': {message}"):
        TokenFile(str(path), AutoAdvanceClock())
