"""Conditions as values: the transition time moves only when the status changes."""

from collections.abc import Sequence

import msgspec

from shared.k8s.meta import Condition


def with_condition(conditions: Sequence[Condition], new: Condition) -> tuple[Condition, ...]:
    """Return `conditions` with `new` in place of the condition of its type, ordered by type."""
    for old in conditions:
        if old.type == new.type and old.status == new.status:
            new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    others = [condition for condition in conditions if condition.type != new.type]
    return tuple(sorted((*others, new), key=lambda condition: condition.type))


def find_condition(conditions: Sequence[Condition], condition_type: str) -> Condition | None:
    """Return the condition of that type, or None if it was never set."""
    return next((found for found in conditions if found.type == condition_type), None)
