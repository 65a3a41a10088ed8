"""Atomic file writes: readers see the complete file or none."""

from pathlib import Path


def write_private_atomic(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    write_atomic(path, text, mode=0o600)


def write_atomic(path: Path, text: str, mode: int = 0o644) -> None:
    """Write beside `path` and rename, so that no reader sees an incomplete file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=mode)
    unfinished.write_text(text)
    unfinished.replace(path)
