"""Foreign text inside our messages."""

from typing import Final

_MAX_LENGTH: Final = 300


def shorten(text: str) -> str:
    """So much of `text` as a message can hold, without its full stop."""
    return text.rstrip(".") if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "..."
