"""Equal parts of many values become one part: what repeats from object to object is kept once."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import force_setattr

T = TypeVar("T", bound=msgspec.Struct)
Share = Callable[[Any], Any]

TRIAL = 500
WORTH = 0.5
PLAIN = (str, int, bool, NoneType)


@dataclass
class Trial:
    """How often the value at one place was one that had been seen."""

    tries: int = 0
    hits: int = 0

    def note(self, known: object) -> None:
        self.tries += 1
        self.hits += known is not None


class Sharing(Generic[T]):
    """Watches the first values to learn which places repeat, and then looks only there.

    Values must be frozen and their maps never written to: a part may belong to many.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._tables: dict[object, dict[Hashable, Any]] = defaultdict(dict)
        self._trials: dict[str, Trial] = defaultdict(Trial)
        self._left = TRIAL
        self._share = self._struct(kind, "")

    def __call__(self, value: T) -> None:
        """Replace its parts by equal ones seen before."""
        if self._left:
            self._left -= 1
            if not self._left:  # from now on without counting
                self._share = self._struct(self._kind, "")
        self._share(value)

    def _of(self, hint: Any, place: str) -> Share | None:
        """How to share a value of type `hint` at `place`; None if there is nothing to gain."""
        if hint is str:
            return self._whole(hint, place, None)
        if hint == dict[str, str]:
            return self._map(place)
        inner: Share | None = None
        if get_origin(hint) is tuple:
            inner = self._tuple(get_args(hint)[0], place)
        elif is_struct(hint):
            inner = self._struct(hint, place)
        return self._whole(hint, place, inner) if is_whole(hint) else inner

    def _whole(self, hint: Any, place: str, inner: Share | None) -> Share | None:
        """One lookup for all of a value; its own parts only where that is new."""
        table, trial, counting = self._tables[hint], self._trials[place], bool(self._left)
        if not self._is_worth_it(trial):
            return inner

        def share(value: Any) -> Any:
            known = table.get(value)
            if counting:
                trial.note(known)
            if known is None:
                known = table[value] = inner(value) if inner else value
            return known

        return share

    def _map(self, place: str) -> Share:
        """A map cannot be a key, but its items can."""
        table, trial, counting = self._tables[dict], self._trials[place], bool(self._left)
        inner = self._texts(place)
        if not self._is_worth_it(trial):
            return inner

        def share(value: dict[str, str]) -> Any:
            known = table.get(tuple(value.items()))
            if counting:
                trial.note(known)
            if known is None:
                known = inner(value)
                table[tuple(known.items())] = known
            return known

        return share

    def _texts(self, place: str) -> Share:
        """The texts of a map, each key being a place of its own."""
        shares: dict[str, Share | None] = {}

        def share(value: dict[str, str]) -> dict[str, str]:
            for key, text in value.items():
                if key not in shares:
                    shares[key] = self._whole(str, f"{place}[{key}]", None)
                if part := shares[key]:
                    value[key] = part(text)
            return value

        return share

    def _is_worth_it(self, trial: Trial) -> bool:
        return bool(self._left) or trial.hits >= WORTH * trial.tries

    def _tuple(self, hint: Any, place: str) -> Share | None:
        part = self._of(hint, f"{place}[]")
        return None if part is None else lambda value: tuple([part(item) for item in value])

    def _struct(self, kind: type[msgspec.Struct], place: str) -> Share:
        hints = get_type_hints(kind)
        shares = {name: self._of(hints[name], f"{place}.{name}") for name in hints}
        texts = [name for name in hints if hints[name] is str and shares[name]]
        if self._left:
            texts = []  # these are counted one by one
        parts = [(name, part) for name, part in shares.items() if part and name not in texts]
        known = self._tables[str].setdefault

        def share(value: Any) -> Any:
            for name in texts:
                text = getattr(value, name)
                same = known(text, text)
                if same is not text:
                    force_setattr(value, name, same)
            for name, part in parts:
                old = getattr(value, name)
                new = part(old)
                if new is not old:
                    force_setattr(value, name, new)
            return value

        return share


def is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def is_whole(hint: Any) -> bool:
    """Whether equal values of this composite are of equal types, and can be keys."""
    return hint not in PLAIN and is_hashable(hint)


def is_hashable(hint: Any) -> bool:
    if is_struct(hint):
        return all(is_hashable(part) for part in get_type_hints(hint).values())
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        return all(part is Ellipsis or is_hashable(part) for part in parts)
    if get_origin(hint) in (Union, UnionType):  # no others: 1 == True
        return len(parts) == 2 and NoneType in parts and all(map(is_hashable, parts))
    return hint in PLAIN
