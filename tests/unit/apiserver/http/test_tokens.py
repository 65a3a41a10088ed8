"""Tests of token files: parsing, and the reload of a changed file."""

from pathlib import Path

import pytest

from apiserver.http.tokens import POLL_SECONDS, InvalidTokensError, Role, TokenFile, TokenSet
from shared.config.loader import ConfigurationError
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock

OPERATORS, TENANTS, BOTHS = "operators-own-token", "tenants.own_token~1==", "a-token-for-both"
TEXT = f"""
# of the pipeline
operator {OPERATORS}
  tenant-control-plane \t {TENANTS}
operator {BOTHS}
tenant-control-plane {BOTHS}
"""


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        (OPERATORS, {Role.OPERATOR}),
        (TENANTS, {Role.TENANT_CONTROL_PLANE}),
        (BOTHS, set(Role)),
        *((text, set()) for text in ("", OPERATORS[:-1], OPERATORS.upper(), "ö", "\udc80", "#")),
    ],
)
def test_a_token_is_good_for_the_roles_of_its_lines(given: str, roles: set[Role]) -> None:
    assert TokenSet.parse(TEXT).roles_of(given) == roles


def test_tokens_themselves_are_not_kept() -> None:
    assert OPERATORS not in repr(TokenSet.parse(TEXT))


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_a_malformed_token_file_is_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(InvalidTokensError, match=said) as refused:
        TokenSet.parse(text)
    assert OPERATORS not in str(refused.value)


OLD, NEW = "the-old-operator-token", "the-new-operator-token"


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"operator {OLD}\n")
    return path


def hold(path: Path, content: bytes | None) -> None:
    """Write the content to the file; delete the file if the content is None."""
    path.unlink()
    if content is not None:
        path.write_bytes(content)


def after(looks: int) -> AutoAdvanceClock:
    return AutoAdvanceClock(end_seconds=looks * POLL_SECONDS)


async def test_a_token_that_is_replaced_is_good_no_longer(path: Path) -> None:
    file = TokenFile(str(path), clock := after(1))
    hold(path, f"operator {NEW}\n".encode())
    await clock.run_to_end(file.run())
    assert file.tokens.roles_of(NEW) == {Role.OPERATOR}
    assert not file.tokens.roles_of(OLD)


@pytest.mark.parametrize("held", [None, b"", b"operator short", b"\xff"])
async def test_an_invalid_token_file_is_logged_once_and_keeps_the_old_tokens(
    path: Path, held: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = TokenFile(str(path), clock := after(3))
    hold(path, held)
    await clock.run_to_end(file.run())
    assert file.tokens.roles_of(OLD) == {Role.OPERATOR}
    assert [each.message for each in caplog.records] == ["tokens_not_read"]


@pytest.mark.parametrize(
    ("held", "said"),
    [(None, "cannot be read: No such"), (b"operator", "line 1"), (b"\xff", "is not UTF-8")],
)
def test_an_invalid_token_file_at_the_start_is_a_configuration_error(
    path: Path, held: bytes | None, said: str
) -> None:
    hold(path, held)
    with pytest.raises(ConfigurationError, match=rf"auth.tokensFile: '.*': {said}"):
        TokenFile(str(path), AutoAdvanceClock())
