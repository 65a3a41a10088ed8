"""Problems of an object's spec as problems of the request that asks for it."""

from collections.abc import Iterable

from apiserver.errors import Detail
from shared.v1alpha1.validation.problem import Problem


def request_details(problems: Iterable[Problem]) -> tuple[Detail, ...]:
    """The problems by field of a request, in which nothing stands under `spec`."""
    return tuple(Detail(problem.path.removeprefix("spec."), words(problem)) for problem in problems)


def words(problem: Problem) -> str:
    """What was given and what is wrong with it."""
    message = problem.message.replace("spec.template", "template")
    return Problem("", problem.value, message).text.removeprefix(": ")
