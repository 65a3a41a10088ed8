"""Validation of label selectors, as strict as needed to report a caller's mistakes."""

import re
from typing import Final

from shared.k8s.name_syntax import is_label_value, is_qualified_name

ACCEPTED_FORMAT: Final = "a label selector such as team=blue,tier in (web,api),!spare"

_KEY: Final = r"[-A-Za-z0-9_./]+"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_REQUIREMENT: Final = re.compile(
    rf"""\s*(?:
        !\s*(?P<absent>{_KEY})
        |(?P<key>{_KEY})\s*(?:
            (?:==|=|!=)\s*(?P<value>{_VALUE})
            |(?<=\s)(?:in|notin)\s*\((?P<values>[^()]*)\)
            |[<>]\s*(?P<number>-?[0-9]{{1,18}})
        )?
    )\s*""",
    re.ASCII | re.VERBOSE,
)


def is_label_selector(text: str) -> bool:
    """Return whether Kubernetes would parse `text` as a label selector."""
    start = 0
    while True:
        requirement = _REQUIREMENT.match(text, start)
        if requirement is None or not _has_valid_names(requirement):
            return False
        if requirement.end() == len(text):
            return True
        if text[requirement.end()] != ",":
            return False
        start = requirement.end() + 1


def _has_valid_names(requirement: re.Match[str]) -> bool:
    values = (requirement["values"] or requirement["value"] or "").split(",")
    return is_qualified_name(requirement["key"] or requirement["absent"]) and all(
        is_label_value(value.strip()) for value in values
    )
