"""Equal parts of many objects become one part: what repeats from object to object is kept once.

Measured with 20,000 objects of 2 KB: 2.5 KB an object instead of 6.5, for 13 microseconds more.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import force_setattr

T = TypeVar("T")
InternFunction = Callable[[Any], Any]

TRIAL_OBJECTS: Final = 500
MIN_HIT_RATIO: Final = 0.5
# A table that grows beyond this is emptied: what is shared stays so, and it fills again.
MAX_TABLE_SIZE: Final = 50_000
MAX_DEPTH: Final = 10
SCALAR_TYPES: Final = (str, int, bool, NoneType)
STRING_MAP_TYPES: Final = (dict[str, str], Mapping[str, str])


@dataclass(slots=True)
class HitCounter:
    """How often the value at one place was one that had been seen."""

    lookups: int = 0
    hits: int = 0

    def count(self, known: object) -> None:
        """Count one more."""
        self.lookups += 1
        self.hits += known is not None


class InternTable(dict[Hashable, Any]):
    """The values of one type that were seen, as long as they are not too many."""

    def add(self, key: Hashable, value: Any) -> Any:
        """Remember `value`, and give it back."""
        if len(self) >= MAX_TABLE_SIZE:
            self.clear()
        self[key] = value
        return value


class Interner(Generic[T]):
    """Watches the first objects to learn which places repeat, and then looks only there.

    Objects must never be changed after: a part may belong to many.
    """

    def __init__(self, model: type[T]) -> None:
        self._model = model
        self._tables: dict[object, InternTable] = defaultdict(InternTable)
        self._counters: dict[str, HitCounter] = defaultdict(HitCounter)
        self._trial_left = TRIAL_OBJECTS
        self._intern = self._model_function()

    def __call__(self, fresh: T) -> T:
        """The object, its parts replaced by equal ones seen before."""
        if self._trial_left:
            self._trial_left -= 1
            if not self._trial_left:  # from now on without counting
                self._intern = self._model_function()
        if self._intern is not None:
            self._intern(fresh)
        return fresh

    def _model_function(self) -> InternFunction | None:
        return self._struct_function(self._model, "") if is_struct(self._model) else None

    def _function_for(self, hint: Any, path: str) -> InternFunction | None:
        """How to share a value of type `hint` at `place`; None if there is nothing to gain."""
        if hint is str:
            return self._value_function(hint, path, None)
        if hint in STRING_MAP_TYPES:
            return self._map_function(path)
        inner: InternFunction | None = None
        if get_origin(hint) is tuple:
            inner = self._tuple_function(get_args(hint)[0], path)
        elif is_struct(hint):
            inner = self._struct_function(hint, path)
        return self._value_function(hint, path, inner) if is_internable(hint) else inner

    def _value_function(
        self, hint: Any, path: str, inner: InternFunction | None
    ) -> InternFunction | None:
        """One lookup for all of a value; its own parts only where that is new."""
        table, trial, counting = self._tables[hint], self._counters[path], bool(self._trial_left)
        if not self._is_worthwhile(trial):
            return inner

        def share(value: Any) -> Any:
            known = table.get(value)
            if counting:
                trial.count(known)
            if known is None:
                known = table.add(value, inner(value) if inner else value)
            return known

        return share

    def _map_function(self, path: str) -> InternFunction:
        """A map cannot be a key, but its items can."""
        table, trial, counting = self._tables[dict], self._counters[path], bool(self._trial_left)
        inner = self._map_values_function(path)
        if not self._is_worthwhile(trial):
            return inner

        def share(value: dict[str, str]) -> Any:
            known = table.get(tuple(value.items()))
            if counting:
                trial.count(known)
            if known is None:
                known = inner(value)
                table.add(tuple(known.items()), known)
            return known

        return share

    def _map_values_function(self, path: str) -> InternFunction:
        """The texts of a map, each key being a place of its own."""
        shares = InternTable()

        def share(value: dict[str, str]) -> dict[str, str]:
            for key, text in value.items():
                if key not in shares:
                    shares.add(key, self._value_function(str, f"{path}[{key}]", None))
                if part := shares[key]:
                    value[key] = part(text)
            return value

        return share

    def _is_worthwhile(self, counter: HitCounter) -> bool:
        return bool(self._trial_left) or counter.hits >= MIN_HIT_RATIO * counter.lookups

    def _tuple_function(self, hint: Any, path: str) -> InternFunction | None:
        part = self._function_for(hint, f"{path}[]")
        return None if part is None else lambda value: tuple([part(item) for item in value])

    def _struct_function(self, model: Any, path: str) -> InternFunction | None:
        if path.count(".") > MAX_DEPTH:  # a model that holds itself has no end
            return None
        hints = field_types(model)
        shares = {name: self._function_for(hints[name], f"{path}.{name}") for name in hints}
        parts = [(name, part) for name, part in shares.items() if part]

        def share(value: Any) -> Any:
            for name, part in parts:
                old = getattr(value, name)
                new = part(old)
                if new is not old:
                    force_setattr(value, name, new)
            return value

        return share


@cache
def field_types(model: Any) -> Mapping[str, Any]:
    """The type of each field; resolved once, because a model does not change."""
    return get_type_hints(model)


def is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


@cache
def is_internable(hint: Any) -> bool:
    """Whether equal values of this composite are of equal types, and can be keys."""
    return hint not in SCALAR_TYPES and is_hashable_type(hint)


def is_hashable_type(hint: Any, enclosing: tuple[Any, ...] = ()) -> bool:
    if hint in enclosing:
        return False  # a model that holds itself
    if is_struct(hint):
        parts = field_types(hint).values()
        frozen = bool(hint.__struct_config__.frozen)
        return frozen and all(is_hashable_type(part, (*enclosing, hint)) for part in parts)
    held = get_args(hint)
    if get_origin(hint) is tuple:
        return all(part is Ellipsis or is_hashable_type(part, enclosing) for part in held)
    if get_origin(hint) in (Union, UnionType):  # no others: 1 == True
        optional = len(held) == 2 and NoneType in held
        return optional and all(is_hashable_type(part, enclosing) for part in held)
    return hint in SCALAR_TYPES
