"""What keeps a pool from being made right, as far as a person must mend it."""

from dataclasses import dataclass

from controller.runtime.errors import ApiError, ForbiddenError, InvalidError
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.validation.resources import envelope_problems


@dataclass(frozen=True, slots=True)
class Trouble:
    """`is_invalid` where only another spec helps, and trying again does not."""

    text: str
    is_invalid: bool


def of_spec(pool: StockPool) -> Trouble | None:
    """What is wrong with what the pool asks for."""
    problems = envelope_problems(pool.spec)
    return Trouble("; ".join(each.text for each in problems), True) if problems else None


def of_answer(failure: ApiError | None) -> Trouble | None:
    """What the server will refuse again; a failure that passes is not worth a word."""
    if not isinstance(failure, InvalidError | ForbiddenError):
        return None
    return Trouble(failure.message, isinstance(failure, InvalidError))
