"""Whether what we want is already there, beside what others own."""

from collections.abc import Mapping, Sequence
from typing import Final

_Key = tuple[object, ...]

# The lists that the API server merges by key: where the list is, its field, the keys.
# Two names tell a Service's ports from a NetworkPolicy's, which are one value.
_POD_LIST_MAPS: Final = {
    ("spec", "containers"): ("name",),
    ("spec", "initContainers"): ("name",),
    ("spec", "volumes"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
}
_CONTAINER_LIST_MAPS: Final = {
    (holder, field): keys
    for holder in ("containers", "initContainers")
    for field, keys in {
        "env": ("name",),
        "ports": ("containerPort", "protocol"),
        "volumeMounts": ("mountPath",),
    }.items()
}
_LIST_MAPS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("spec", "ports"): ("port", "protocol"),
    **_POD_LIST_MAPS,
    **_CONTAINER_LIST_MAPS,
}
# The maps that it takes for one value: with a key more, they select something else.
_ATOMIC_MAPS: Final = frozenset(
    {("spec", "selector"), ("spec", "podSelector"), ("spec", "nodeSelector")}
)


def contains_desired(live: object, desired: object) -> bool:
    """Whether every field of `desired` is in `live` with that value; both are whole objects.

    Maps, and lists that are merged by key, may have more; selectors and other lists are one value.
    """
    return _contains(live, desired, ("", ""))


def _contains(live: object, desired: object, field_path: tuple[str, str]) -> bool:
    if field_path in _ATOMIC_MAPS:
        return live == desired
    if isinstance(desired, Mapping):
        return isinstance(live, Mapping) and all(
            name in live and _contains(live[name], value, (field_path[1], name))
            for name, value in desired.items()
        )
    if isinstance(desired, list | tuple):
        return isinstance(live, list | tuple) and _list_contains(live, desired, field_path)
    return isinstance(live, bool) is isinstance(desired, bool) and live == desired


def _list_contains(
    live: Sequence[object], desired: Sequence[object], field_path: tuple[str, str]
) -> bool:
    keys = _LIST_MAPS.get(field_path, ())
    there, wanted = _entries_by_key(live, keys), _entries_by_key(desired, keys)
    if there is None or wanted is None:
        return len(live) == len(desired) and all(
            _contains(one, other, field_path) for one, other in zip(live, desired, strict=True)
        )
    return all(
        key in there and _contains(there[key], entry, field_path) for key, entry in wanted.items()
    )


def _entries_by_key(entries: Sequence[object], keys: tuple[str, ...]) -> dict[_Key, object] | None:
    """The entries by their keys; None where they have none, or not all of them, or one twice."""
    found: dict[_Key, object] = {
        tuple(entry[key] for key in keys): entry
        for entry in entries
        if keys and isinstance(entry, Mapping) and all(key in entry for key in keys)
    }
    return found if keys and len(found) == len(entries) else None
