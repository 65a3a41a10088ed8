"""Conditions as values: the time of a transition moves only when the status flips."""

from collections.abc import Sequence

import msgspec

from shared.k8s.meta import Condition


def with_condition(conditions: Sequence[Condition], new: Condition) -> tuple[Condition, ...]:
    """`known` with `new` in the place of its type, in the order of the types."""
    for old in conditions:
        if old.type == new.type and old.status == new.status:
            new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    others = [found for found in conditions if found.type != new.type]
    return tuple(sorted((*others, new), key=lambda found: found.type))


def find_condition(conditions: Sequence[Condition], condition_type: str) -> Condition | None:
    """The condition of that type, if it was ever set."""
    return next((found for found in conditions if found.type == condition_type), None)
