"""Fields for names, ids and amounts."""

import re
from typing import Any, Final

from marshmallow import ValidationError, validate

from apiserver.details import words
from apiserver.errors import Detail
from apiserver.schemas.fields import Text, TextMap, matching
from shared.k8s import name_syntax, quantity
from shared.k8s.name_syntax import is_label, is_label_value, is_qualified
from shared.v1alpha1.reserved_labels import is_own_label
from shared.v1alpha1.validation.problem import Problem, cut

LONGEST_ID: Final = 128

_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME_RULES: Final = {"pattern": f"^{_DNS_LABEL}$", "maxLength": 63}
SUBDOMAIN_RULES: Final = {"pattern": rf"^{_DNS_LABEL}(\.{_DNS_LABEL})*$", "maxLength": 253}
SECRET_KEY_RULES: Final = {"pattern": "^[-._A-Za-z0-9]+$", "maxLength": 253}
PORT_RULES: Final = {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 15}
ENV_RULES: Final = {"pattern": "^[ -<>-~]+$"}
PATH_RULES: Final = {"pattern": "^/"}
IMAGE_RULES: Final = {"pattern": r"^\S+$", "example": "registry.example.com/trainer:7"}
OPERATION_ID_RULES: Final = {
    "pattern": r"^\S(.*\S)?$",
    "minLength": 1,
    "maxLength": LONGEST_ID,
}

_LABEL_VALUE: Final = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_UNSIGNED: Final = re.compile(quantity.UNSIGNED)


class Name(Text):
    """The name of an object of ours."""

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(
            validate=matching(is_label, f"is not a name: {name_syntax.LABEL}"),
            metadata={"description": description, **NAME_RULES},
            **options,
        )


class OperationID(Text):
    """The caller's name for what it asks for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            data_key="operationID",
            validate=matching(is_operation_id, f"is not an operationID: {OPERATION_ID}"),
            metadata={
                "description": "Your name for this operation; repeat it, and it happens once.",
                "example": "order-4711",
                **OPERATION_ID_RULES,
            },
            **options,
        )


class SpecName(Text):
    """The name of a machine spec."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            validate=matching(is_spec_name, f"is not a spec name: {name_syntax.LABEL_VALUE}"),
            metadata={
                "description": "The machine spec, such as g1.1.",
                "pattern": _LABEL_VALUE,
                "maxLength": 63,
            },
            **options,
        )


class Amount(Text):
    """A Kubernetes quantity."""

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(
            validate=[
                validate.Length(max=quantity.LONGEST_TEXT, error="is longer than {max} characters"),
                amount,
            ],
            metadata={"description": description, "pattern": quantity.UNSIGNED},
            **options,
        )


class Labels(TextMap):
    """The caller's own labels; `of` says what gets them."""

    def __init__(self, *, of: str = "the unit and its pods", **options: Any) -> None:
        super().__init__(
            validate=labels,
            metadata={"description": f"Your labels, which {of} get."},
            **options,
        )


OPERATION_ID: Final = (
    f"1 to {LONGEST_ID} printable characters, no blank at either end, such as order-4711"
)


def is_operation_id(text: str) -> bool:
    """Whether `text` can be the id of an operation."""
    return 1 <= len(text) <= LONGEST_ID and text.isprintable() and text == text.strip()


def is_spec_name(text: str) -> bool:
    """Whether `text` can be the name of a spec, which is the value of a label."""
    return text != "" and is_label_value(text)


def amount(text: str) -> None:
    """Refuse what is not a quantity above 0."""
    try:
        parsed = quantity.Quantity.parse(text if _UNSIGNED.fullmatch(text) else "")
    except ValueError:
        raise _refused(text, f"is not {quantity.ACCEPTED}, at most 2^63-1") from None
    if parsed.nanos <= 0:
        raise _refused(text, "is not above 0")


def labels(given: dict[str, str]) -> None:
    """Refuse labels that Kubernetes would refuse, and ours."""
    found: list[Any] = []
    for key, value in given.items():
        place = f"[{cut(key)!r}]"
        if not is_qualified(key):
            found.append(Detail(place, f"is not the key of a label: {name_syntax.QUALIFIED}"))
        elif is_own_label(key):
            found.append(Detail(place, "is a label that only this service sets"))
        if not is_label_value(value):
            message = f"is not the value of a label: {name_syntax.LABEL_VALUE}"
            found.append(Detail(place, words(Problem("", value, message))))
    if found:
        raise ValidationError(found)


def _refused(text: str, message: str) -> ValidationError:
    return ValidationError(words(Problem("", text, message)))
