"""What a unit's spec must be for its workload to be possible."""

from dataclasses import dataclass

from shared.quantity import Quantity
from shared.v1alpha1.envelope import Envelope


@dataclass(frozen=True, slots=True)
class Problem:
    """One field that cannot stay as it is, in words that say which and why."""

    text: str


def envelope_problems(spec: Envelope) -> list[Problem]:
    """What is wrong with the resources; nothing where a pod can ask for them."""
    amounts = {"cpu": spec.cpu, "memory": spec.memory, "shmSize": spec.shm_size}
    return [
        Problem(f"spec.{field}: {text}")
        for field, value in amounts.items()
        if value and (text := _amount_problem(value))
    ]


def _amount_problem(value: str) -> str:
    try:
        amount = Quantity.parse(value)
    except ValueError as error:
        return str(error)
    return "" if amount.nanos > 0 else f"{value!r} is not above zero"
