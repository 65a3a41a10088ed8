"""Fields for names, ids and amounts."""

import re
from typing import Any, Final

from marshmallow import ValidationError, validate

from apiserver.errors import ErrorDetail, describe_problem
from apiserver.schemas.fields import StrictString, StringDict, predicate_validator
from shared.k8s import name_syntax, quantity
from shared.k8s.name_syntax import is_dns_label, is_label_value, is_qualified_name
from shared.v1alpha1.reserved_labels import is_reserved_label
from shared.v1alpha1.validation.problem import Problem, truncate

MAX_OPERATION_ID_LENGTH: Final = 128

_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME_RULES: Final = {"pattern": f"^{_DNS_LABEL}$", "maxLength": 63}
SUBDOMAIN_RULES: Final = {"pattern": rf"^{_DNS_LABEL}(\.{_DNS_LABEL})*$", "maxLength": 253}
SECRET_KEY_RULES: Final = {"pattern": "^[-._A-Za-z0-9]+$", "maxLength": 253}
PORT_NAME_RULES: Final = {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 15}
ENV_NAME_RULES: Final = {"pattern": "^[ -<>-~]+$"}
PATH_RULES: Final = {"pattern": "^/"}
IMAGE_RULES: Final = {"pattern": r"^\S+$", "example": "registry.example.com/trainer:7"}
OPERATION_ID_RULES: Final = {
    "pattern": r"^\S(.*\S)?$",
    "minLength": 1,
    "maxLength": MAX_OPERATION_ID_LENGTH,
}

_LABEL_VALUE: Final = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_UNSIGNED_QUANTITY: Final = re.compile(quantity.UNSIGNED_PATTERN)


class Name(StrictString):
    """The name of an object of our API group."""

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(
            validate=predicate_validator(
                is_dns_label, f"is not a name: {name_syntax.DNS_LABEL_SYNTAX}"
            ),
            metadata={"description": description, **NAME_RULES},
            **options,
        )


class OperationID(StrictString):
    """The id that the caller chose for an operation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            data_key="operationID",
            validate=predicate_validator(
                is_operation_id, f"is not an operationID: {OPERATION_ID_SYNTAX}"
            ),
            metadata={
                "description": "Your id for this operation: a repeated request runs only once.",
                "example": "order-4711",
                **OPERATION_ID_RULES,
            },
            **options,
        )


class SpecName(StrictString):
    """The name of a machine spec."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            validate=predicate_validator(
                is_spec_name, f"is not a spec name: {name_syntax.LABEL_VALUE_SYNTAX}"
            ),
            metadata={
                "description": "The machine spec, such as g1.1.",
                "pattern": _LABEL_VALUE,
                "maxLength": 63,
            },
            **options,
        )


class QuantityField(StrictString):
    """A Kubernetes quantity."""

    def __init__(self, *, description: str, **options: Any) -> None:
        super().__init__(
            validate=[
                validate.Length(
                    max=quantity.MAX_TEXT_LENGTH, error="is longer than {max} characters"
                ),
                check_quantity,
            ],
            metadata={"description": description, "pattern": quantity.UNSIGNED_PATTERN},
            **options,
        )


class LabelsField(StringDict):
    """The caller's own labels; `targets` names the objects that get them."""

    def __init__(self, *, targets: str = "the unit and its pods", **options: Any) -> None:
        super().__init__(
            validate=check_labels,
            metadata={"description": f"Your labels for {targets}."},
            **options,
        )


OPERATION_ID_SYNTAX: Final = (
    f"1 to {MAX_OPERATION_ID_LENGTH} printable characters, no blank at either end, "
    "such as order-4711"
)


def is_operation_id(text: str) -> bool:
    """Return whether `text` can be the id of an operation."""
    return 1 <= len(text) <= MAX_OPERATION_ID_LENGTH and text.isprintable() and text == text.strip()


def is_spec_name(text: str) -> bool:
    """Return whether `text` can be the name of a spec, which is the value of a label."""
    return text != "" and is_label_value(text)


def check_quantity(text: str) -> None:
    """Raise ValidationError unless the value is a quantity above 0."""
    try:
        parsed = quantity.Quantity.parse(text if _UNSIGNED_QUANTITY.fullmatch(text) else "")
    except ValueError:
        raise _value_error(text, f"is not {quantity.ACCEPTED_FORMAT}, at most 2^63-1") from None
    if parsed.nanos <= 0:
        raise _value_error(text, "must be greater than 0")


def check_labels(labels: dict[str, str]) -> None:
    """Raise ValidationError for labels that Kubernetes rejects, and for reserved labels."""
    details: list[Any] = []
    for key, value in labels.items():
        path = f"[{truncate(key)!r}]"
        if not is_qualified_name(key):
            details.append(
                ErrorDetail(path, f"is not the key of a label: {name_syntax.QUALIFIED_NAME_SYNTAX}")
            )
        elif is_reserved_label(key):
            details.append(ErrorDetail(path, "is a label that only this service sets"))
        if not is_label_value(value):
            message = f"is not the value of a label: {name_syntax.LABEL_VALUE_SYNTAX}"
            details.append(ErrorDetail(path, describe_problem(Problem("", value, message))))
    if details:
        raise ValidationError(details)


def _value_error(text: str, message: str) -> ValidationError:
    return ValidationError(describe_problem(Problem("", text, message)))
