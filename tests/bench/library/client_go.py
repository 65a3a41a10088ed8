"""The anchor: the Go program that measures client-go."""

from tests.bench.go_program import build_go_program
from tests.bench.library.contender import Contender


def client_go_contender() -> Contender:
    """The anchor, built if it is not in the cache."""
    return Contender("client-go", (str(build_go_program("anchor")),))
