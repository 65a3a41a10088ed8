"""Label and field selectors, as far as the product uses them."""

from typing import Any

from apiserver.kube.port import ListOptions


def matches(document: dict[str, Any], selection: ListOptions) -> bool:
    labels = document["metadata"].get("labels", {})
    return all(
        has_label(labels, term) for term in split_selector(selection.label_selector)
    ) and all(has_field(document, term) for term in split_selector(selection.field_selector))


def split_selector(selector: str) -> list[str]:
    return [term for term in selector.split(",") if term]


def has_label(labels: dict[str, str], term: str) -> bool:
    if term.startswith("!"):
        return term[1:] not in labels
    name, equals, value = term.partition("=")
    return labels.get(name) == value if equals else name in labels


def has_field(document: dict[str, Any], term: str) -> bool:
    """Return whether a field has a value; a missing field equals the empty text."""
    is_negated = "!=" in term
    path, _, value = term.partition("!=" if is_negated else "=")
    field: Any = document
    for part in path.split("."):
        field = field.get(part, "") if isinstance(field, dict) else ""
    return bool(field == value) != is_negated
