"""The anchor: the Go program that measures client-go."""

from tests.bench.go_program import go_program
from tests.bench.library.contender import Contender


def client_go() -> Contender:
    """The anchor, built if it is not in the cache."""
    return Contender("client-go", (str(go_program("anchor")),))
