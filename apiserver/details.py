"""Problems of an object's spec as problems of the request that asks for it."""

from collections.abc import Iterable

from apiserver.errors import ErrorDetail
from shared.v1alpha1.validation.problem import Problem


def problem_details(problems: Iterable[Problem]) -> tuple[ErrorDetail, ...]:
    """The problems by field of a request, in which nothing stands under `spec`."""
    return tuple(
        ErrorDetail(problem.path.removeprefix("spec."), describe_problem(problem))
        for problem in problems
    )


def describe_problem(problem: Problem) -> str:
    """What was given and what is wrong with it."""
    message = problem.message.replace("spec.template", "template")
    return Problem("", problem.value, message).text.removeprefix(": ")
