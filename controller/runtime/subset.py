"""Compares a live object with desired fields, and ignores fields of other owners."""

from collections.abc import Mapping, Sequence
from typing import Final

_Key = tuple[object, ...]

# The lists that the API server merges by key: (parent field, field) to the keys.
# With the parent, the ports of a Service differ from those of a NetworkPolicy, which are atomic.
_POD_LIST_MAPS: Final = {
    ("spec", "containers"): ("name",),
    ("spec", "initContainers"): ("name",),
    ("spec", "volumes"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
}
_CONTAINER_LIST_MAPS: Final = {
    (parent, field): keys
    for parent in ("containers", "initContainers")
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
# The atomic maps: an additional key would change the selection.
_ATOMIC_MAPS: Final = frozenset(
    {("spec", "selector"), ("spec", "podSelector"), ("spec", "nodeSelector")}
)


def contains_desired(live: object, desired: object) -> bool:
    """Whether `live` has every field of `desired` with the same value; both are whole objects.

    Maps, and lists that are merged by key, may have more entries. Selectors and other lists must
    be equal.
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
    live_by_key, desired_by_key = _entries_by_key(live, keys), _entries_by_key(desired, keys)
    if live_by_key is None or desired_by_key is None:
        return len(live) == len(desired) and all(
            _contains(live_item, desired_item, field_path)
            for live_item, desired_item in zip(live, desired, strict=True)
        )
    return all(
        key in live_by_key and _contains(live_by_key[key], entry, field_path)
        for key, entry in desired_by_key.items()
    )


def _entries_by_key(entries: Sequence[object], keys: tuple[str, ...]) -> dict[_Key, object] | None:
    """Index entries by key; None without keys, or if a key of an entry is missing or repeated."""
    by_key: dict[_Key, object] = {
        tuple(entry[key] for key in keys): entry
        for entry in entries
        if keys and isinstance(entry, Mapping) and all(key in entry for key in keys)
    }
    return by_key if keys and len(by_key) == len(entries) else None
