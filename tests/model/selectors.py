"""Label and field selectors, as far as our operations use them."""

from typing import Any

from apiserver.kube.port import ListOptions


def matches(document: dict[str, Any], selection: ListOptions) -> bool:
    labels = document["metadata"].get("labels", {})
    return all(
        has_label(labels, each) for each in split_selector(selection.label_selector)
    ) and all(has_field(document, each) for each in split_selector(selection.field_selector))


def split_selector(selector: str) -> list[str]:
    return [each for each in selector.split(",") if each]


def has_label(labels: dict[str, str], term: str) -> bool:
    if term.startswith("!"):
        return term[1:] not in labels
    name, equals, value = term.partition("=")
    return labels.get(name) == value if equals else name in labels


def has_field(document: dict[str, Any], term: str) -> bool:
    """A field that is absent equals the empty text."""
    is_negated = "!=" in term
    path, _, value = term.partition("!=" if is_negated else "=")
    found: Any = document
    for part in path.split("."):
        found = found.get(part, "") if isinstance(found, dict) else ""
    return bool(found == value) != is_negated
