"""Foreign text inside our messages."""

from typing import Final

_LONGEST: Final = 300


def cut(text: str) -> str:
    """So much of `text` as a message can hold, without its full stop."""
    return text.rstrip(".") if len(text) <= _LONGEST else text[:_LONGEST] + "..."
