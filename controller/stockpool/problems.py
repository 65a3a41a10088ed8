"""Problems of a pool that a user must solve."""

from dataclasses import dataclass

from controller.runtime import ForbiddenError, InvalidError, KubeError
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.validation.resources import resource_problems


@dataclass(frozen=True, slots=True)
class PoolProblem:
    """Problem of a pool; with `is_invalid_spec` only another spec helps, a retry does not."""

    message: str
    is_invalid_spec: bool


def spec_problem(pool: StockPool) -> PoolProblem | None:
    """Return the problems of the spec as one; None if the spec is valid."""
    problems = resource_problems(pool.spec)
    return PoolProblem("; ".join(problem.text for problem in problems), True) if problems else None


def rejection_problem(error: KubeError | None) -> PoolProblem | None:
    """Return an error that the server will repeat; None for a transient error."""
    if not isinstance(error, InvalidError | ForbiddenError):
        return None
    return PoolProblem(error.message, isinstance(error, InvalidError))
