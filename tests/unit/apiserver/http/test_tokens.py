"""Tokens are taken from a text, or the text is refused without showing them."""

import pytest

from apiserver.http.roles import Role
from apiserver.http.tokens import InvalidTokensError, TokenSet

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
        ("", "there is no token in it"),
        ("# operator none-of-the-tokens", "there is no token in it"),
        (f"\nadmin {OPERATORS}", "line 2 cannot be read"),
        (OPERATORS, "line 1 cannot be read"),
        (f"operator {OPERATORS} {OPERATORS}", "line 1 cannot be read"),
        ("operator only-15-letters", "the token of line 1 is not of at least 16"),
        (f"operator {OPERATORS}ö", "the token of line 1 is not of at least 16"),
    ],
)
def test_a_malformed_token_file_is_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(InvalidTokensError, match=said) as refused:
        TokenSet.parse(text)
    assert OPERATORS not in str(refused.value)
