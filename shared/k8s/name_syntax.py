"""The syntax of names in Kubernetes."""

import re
from typing import Final

DNS_LABEL_SYNTAX: Final = "lower case letters, digits and -, at most 63 characters, such as my-data"
DNS_SUBDOMAIN_SYNTAX: Final = (
    "lower case letters, digits, - and ., at most 253 characters, such as my-registry"
)
QUALIFIED_NAME_SYNTAX: Final = (
    "letters, digits, -, _ and ., after an optional domain, such as example.com/zone"
)
LABEL_VALUE_SYNTAX: Final = "letters, digits, -, _ and ., at most 63 characters, such as eu-west"
EXTENDED_RESOURCE_SYNTAX: Final = (
    "an extended resource with the domain of its vendor, such as nvidia.com/gpu"
)
SECRET_KEY_SYNTAX: Final = "letters, digits, -, _ and ., at most 253 characters, such as api-key"  # noqa: S105
PORT_NAME_SYNTAX: Final = (
    "lower case letters, digits and single -, at most 15 characters, such as http"
)
ENV_NAME_SYNTAX: Final = "printable ASCII characters without ="
URL_SCHEME_SYNTAX: Final = "a letter, then letters, digits, +, - and ., such as https"

_DNS_LABEL_REGEX: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL: Final = re.compile(_DNS_LABEL_REGEX)
_DNS_SUBDOMAIN: Final = re.compile(rf"{_DNS_LABEL_REGEX}(\.{_DNS_LABEL_REGEX})*")
_QUALIFIED_NAME_PART: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SECRET_KEY: Final = re.compile(r"(?!\.\.)[-._A-Za-z0-9]+")
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_URL_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def is_dns_label(text: str) -> bool:
    """Return whether `text` is a DNS-1123 label, the syntax of most names of our objects."""
    return len(text) <= 63 and _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Return whether `text` is a DNS-1123 subdomain, the syntax of most names of other objects."""
    return len(text) <= 253 and _DNS_SUBDOMAIN.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """Return whether `text` is a name with an optional domain: the key of a label or a taint."""
    domain, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(domain):
        return False
    return len(name) <= 63 and _QUALIFIED_NAME_PART.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return whether `text` may be the value of a label or a taint; the value may be empty."""
    return text == "" or (len(text) <= 63 and _QUALIFIED_NAME_PART.fullmatch(text) is not None)


def is_extended_resource(text: str) -> bool:
    """Return whether `text` is a resource of nodes that is not one of Kubernetes' own.

    Quotas prefix its name with `requests.`, and the result must still be a valid name.
    """
    is_native = "/" not in text or "kubernetes.io/" in text
    return (
        not is_native and not text.startswith("requests.") and is_qualified_name(f"requests.{text}")
    )


def is_secret_key(text: str) -> bool:
    """Return whether `text` may be a key in a Secret."""
    return len(text) <= 253 and text != "." and _SECRET_KEY.fullmatch(text) is not None


def is_port_name(text: str) -> bool:
    """Return whether `text` is an IANA service name in lower case."""
    return len(text) <= 15 and _PORT_NAME.fullmatch(text) is not None


def is_env_name(text: str) -> bool:
    """Return whether `text` may be the name of an environment variable."""
    return _ENV_NAME.fullmatch(text) is not None


def is_url_scheme(text: str) -> bool:
    """Return whether `text` is a valid scheme of a URL (RFC 3986)."""
    return _URL_SCHEME.fullmatch(text) is not None
