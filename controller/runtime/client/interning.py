"""Interns equal parts of cached objects, to save memory.

Measured with 20,000 objects of 2 KB: 2.5 KB per object instead of 6.5, for 13 microseconds more.
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
# A larger table is cleared: shared parts stay shared, and the table fills again.
MAX_TABLE_SIZE: Final = 50_000
MAX_DEPTH: Final = 10
SCALAR_TYPES: Final = (str, int, bool, NoneType)
STRING_MAP_TYPES: Final = (dict[str, str], Mapping[str, str])


@dataclass(slots=True)
class HitCounter:
    """The lookups of the values of one field, and how many of them were hits."""

    lookups: int = 0
    hits: int = 0

    def count(self, known: object) -> None:
        """Count one lookup."""
        self.lookups += 1
        self.hits += known is not None


class InternTable(dict[Hashable, Any]):
    """The known values of one type, up to a maximum number."""

    def add(self, key: Hashable, value: Any) -> Any:
        """Store and return `value`."""
        if len(self) >= MAX_TABLE_SIZE:
            self.clear()
        self[key] = value
        return value


class Interner(Generic[T]):
    """Learns from the first objects which fields repeat, and then interns only these fields.

    The objects must not be changed later, because many objects may share a part.
    """

    def __init__(self, model: type[T]) -> None:
        self._model = model
        self._tables: dict[object, InternTable] = defaultdict(InternTable)
        self._counters: dict[str, HitCounter] = defaultdict(HitCounter)
        self._trial_left = TRIAL_OBJECTS
        self._intern = self._model_function()

    def __call__(self, decoded: T) -> T:
        """Replace the parts of an object by equal known parts; return the object."""
        if self._trial_left:
            self._trial_left -= 1
            if not self._trial_left:  # from now on without counting
                self._intern = self._model_function()
        if self._intern is not None:
            self._intern(decoded)
        return decoded

    def _model_function(self) -> InternFunction | None:
        return self._struct_function(self._model, "") if is_struct(self._model) else None

    def _function_for(self, hint: Any, path: str) -> InternFunction | None:
        """Return the function that interns values of type `hint` at `path`; None if useless."""
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
        """Intern a value as a whole; its parts only if the value is new."""
        table, counter, counting = self._tables[hint], self._counters[path], bool(self._trial_left)
        if not self._is_worthwhile(counter):
            return inner

        def intern(value: Any) -> Any:
            known = table.get(value)
            if counting:
                counter.count(known)
            if known is None:
                known = table.add(value, inner(value) if inner else value)
            return known

        return intern

    def _map_function(self, path: str) -> InternFunction:
        """Intern a map by its items, because a map itself is not hashable."""
        table, counter, counting = self._tables[dict], self._counters[path], bool(self._trial_left)
        inner = self._map_values_function(path)
        if not self._is_worthwhile(counter):
            return inner

        def intern(value: dict[str, str]) -> Any:
            known = table.get(tuple(value.items()))
            if counting:
                counter.count(known)
            if known is None:
                known = inner(value)
                table.add(tuple(known.items()), known)
            return known

        return intern

    def _map_values_function(self, path: str) -> InternFunction:
        """Intern the values of a map, with one counter per key."""
        functions = InternTable()

        def intern(value: dict[str, str]) -> dict[str, str]:
            for key, text in value.items():
                if key not in functions:
                    functions.add(key, self._value_function(str, f"{path}[{key}]", None))
                if function := functions[key]:
                    value[key] = function(text)
            return value

        return intern

    def _is_worthwhile(self, counter: HitCounter) -> bool:
        return bool(self._trial_left) or counter.hits >= MIN_HIT_RATIO * counter.lookups

    def _tuple_function(self, hint: Any, path: str) -> InternFunction | None:
        function = self._function_for(hint, f"{path}[]")
        return None if function is None else lambda value: tuple([function(item) for item in value])

    def _struct_function(self, model: Any, path: str) -> InternFunction | None:
        if path.count(".") > MAX_DEPTH:  # the model contains itself
            return None
        hints = field_types(model)
        by_field = {name: self._function_for(hints[name], f"{path}.{name}") for name in hints}
        functions = [(name, function) for name, function in by_field.items() if function]

        def intern(value: Any) -> Any:
            for name, function in functions:
                old = getattr(value, name)
                new = function(old)
                if new is not old:
                    force_setattr(value, name, new)
            return value

        return intern


@cache
def field_types(model: Any) -> Mapping[str, Any]:
    """Return the type of each field, resolved once per model."""
    return get_type_hints(model)


def is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


@cache
def is_internable(hint: Any) -> bool:
    """Whether values of this composite type are hashable, and equal only if their types are."""
    return hint not in SCALAR_TYPES and is_hashable_type(hint)


def is_hashable_type(hint: Any, enclosing: tuple[Any, ...] = ()) -> bool:
    if hint in enclosing:
        return False  # the model contains itself
    if is_struct(hint):
        parts = field_types(hint).values()
        frozen = bool(hint.__struct_config__.frozen)
        return frozen and all(is_hashable_type(part, (*enclosing, hint)) for part in parts)
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return all(part is Ellipsis or is_hashable_type(part, enclosing) for part in arguments)
    if get_origin(hint) in (Union, UnionType):  # no other unions, because 1 == True
        optional = len(arguments) == 2 and NoneType in arguments
        return optional and all(is_hashable_type(part, enclosing) for part in arguments)
    return hint in SCALAR_TYPES
