"""Tests of name syntax: the rules of Kubernetes."""

from collections.abc import Callable

import pytest

from shared.k8s import name_syntax as syntax

DOMAIN_244 = "a" * 244  # the longest domain, because quotas prefix the name with `requests.`

VALID: list[tuple[Callable[[str], bool], list[str]]] = [
    (syntax.is_dns_label, ["a", "1", "a-b", "a--b", "a" * 63]),
    (syntax.is_dns_subdomain, ["a", "a.b", "1.2", "a-b.c", "a" * 253]),
    (
        syntax.is_qualified_name,
        ["a", "A_b.c-D", "example.com/a", "a" * 63, f"{'a' * 253}/{'b' * 63}"],
    ),
    (syntax.is_label_value, ["", "a", "A_b.c-D", "1", "a" * 63]),
    (syntax.is_extended_resource, ["nvidia.com/gpu", "a/B_c", f"{DOMAIN_244}/gpu"]),
    (syntax.is_secret_key, ["a", "A.b_c-d", ".hidden", "a..b", "-", "a" * 253]),
    (syntax.is_port_name, ["http", "a", "1a", "a-1", "8080-tcp", "a" * 15]),
    (syntax.is_env_name, ["A", "a b", "1", "$X", "~", " "]),
    (syntax.is_url_scheme, ["http", "HTTP", "git+ssh", "a1.b-c"]),
]
INVALID: list[tuple[Callable[[str], bool], list[str]]] = [
    (syntax.is_dns_label, ["", "-a", "a-", "A", "a.b", "a_b", "a\n", "ä", "a" * 64]),
    (syntax.is_dns_subdomain, ["", ".a", "a.", "a..b", "A", "a-.b", "a\n", "a" * 254]),
    (
        syntax.is_qualified_name,
        ["", "/a", "a/", "a/b/c", "-a", "A/b", "a b", "a\n", "a" * 64, f"{'a' * 254}/b"],
    ),
    (syntax.is_label_value, ["-", "a-", "a b", "ä", "a\n", "a" * 64]),
    (
        syntax.is_extended_resource,
        [
            "",
            "gpu",
            "kubernetes.io/gpu",
            "x.kubernetes.io/gpu",
            "requests.example.com/gpu",
            "nvidia.com/",
            "nvidia.com/gpu/x",
            f"{DOMAIN_244}a/gpu",
        ],
    ),
    (syntax.is_secret_key, ["", ".", "..", "..a", "a b", "a/b", "a" * 254]),
    (syntax.is_port_name, ["", "1", "8-0", "-a", "a-", "a--b", "A", "a_b", "a\n", "a" * 16]),
    (syntax.is_env_name, ["", "a=b", "=", "ä", "a\n", "a\tb", "\x7f"]),
    (syntax.is_url_scheme, ["", "1a", "a:", "a b", "ä", "http\n", "-a"]),
]


@pytest.mark.parametrize(
    ("is_valid", "text"), [(rule, text) for rule, texts in VALID for text in texts]
)
def test_valid_names_are_accepted(is_valid: Callable[[str], bool], text: str) -> None:
    assert is_valid(text)


@pytest.mark.parametrize(
    ("is_valid", "text"), [(rule, text) for rule, texts in INVALID for text in texts]
)
def test_invalid_names_are_refused(is_valid: Callable[[str], bool], text: str) -> None:
    assert not is_valid(text)
