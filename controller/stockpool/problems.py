"""What keeps a pool from being made right, as far as a person must mend it."""

from dataclasses import dataclass

from controller.runtime import ForbiddenError, InvalidError, KubeError
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.validation.resources import resource_problems


@dataclass(frozen=True, slots=True)
class PoolProblem:
    """`is_invalid` where only another spec helps, and trying again does not."""

    message: str
    is_invalid_spec: bool


def spec_problem(pool: StockPool) -> PoolProblem | None:
    """What is wrong with what the pool asks for."""
    problems = resource_problems(pool.spec)
    return PoolProblem("; ".join(each.text for each in problems), True) if problems else None


def rejection_problem(error: KubeError | None) -> PoolProblem | None:
    """What the server will refuse again; a failure that passes is not worth a word."""
    if not isinstance(error, InvalidError | ForbiddenError):
        return None
    return PoolProblem(error.message, isinstance(error, InvalidError))
