"""How names may be written in Kubernetes."""

import re
from typing import Final

LABEL: Final = "lower case letters, digits and -, at most 63, such as my-data"
SUBDOMAIN: Final = "lower case letters, digits, - and ., at most 253, such as my-registry"
QUALIFIED: Final = "letters, digits, -, _ and ., after an optional domain, such as example.com/zone"
LABEL_VALUE: Final = "letters, digits, -, _ and ., at most 63, such as eu-west"
EXTENDED_RESOURCE: Final = "a resource with a domain of its maker, such as nvidia.com/gpu"
DATA_KEY: Final = "letters, digits, -, _ and ., at most 253, such as api-key"
PORT: Final = "lower case letters, digits and single -, at most 15, such as http"
ENV: Final = "printable ASCII characters without ="
SCHEME: Final = "a letter, then letters, digits, +, - and ., such as https"

_DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL: Final = re.compile(_DNS_LABEL)
_SUBDOMAIN: Final = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SECRET_KEY: Final = re.compile(r"(?!\.\.)[-._A-Za-z0-9]+")
_PORT: Final = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_ENV: Final = re.compile(r"[ -<>-~]+")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def is_label(text: str) -> bool:
    """Whether `text` is a DNS-1123 label: the name of most objects of ours."""
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether `text` is a DNS-1123 subdomain: the name of most objects of others."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_qualified(text: str) -> bool:
    """Whether `text` is a name with an optional domain: the key of a label or a taint."""
    domain, slash, name = text.rpartition("/")
    if slash and not is_subdomain(domain):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether `text` may be the value of a label or a taint; it may be empty."""
    return text == "" or (len(text) <= 63 and _NAME.fullmatch(text) is not None)


def is_extended_resource(text: str) -> bool:
    """Whether `text` is a resource that nodes offer beside Kubernetes' own.

    Quotas write `requests.` before it, and that must still be a name.
    """
    is_native = "/" not in text or "kubernetes.io/" in text
    return not is_native and not text.startswith("requests.") and is_qualified(f"requests.{text}")


def is_secret_key(text: str) -> bool:
    """Whether `text` may be a key in a Secret."""
    return len(text) <= 253 and text != "." and _SECRET_KEY.fullmatch(text) is not None


def is_port(text: str) -> bool:
    """Whether `text` is an IANA service name in lower case."""
    return len(text) <= 15 and _PORT.fullmatch(text) is not None


def is_env(text: str) -> bool:
    """Whether `text` may be the name of an environment variable."""
    return _ENV.fullmatch(text) is not None


def is_scheme(text: str) -> bool:
    """Whether `text` may stand before :// (RFC 3986)."""
    return _SCHEME.fullmatch(text) is not None
