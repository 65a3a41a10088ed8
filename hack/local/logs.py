"""The command `make logs`, which follows all logs and prefixes each line with the process name."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

POLL_SECONDS = 0.2
INITIAL_TAIL_BYTES = 4096


def follow_logs(state_dir: Path, names: Sequence[str]) -> int:
    """Print the ends of the logs and new lines, until Ctrl-C or `make down`."""
    positions: dict[Path, int] = {}
    if not state_dir.exists():
        print("no local system is set up here; make up starts one")
        return 1
    print(f"following {state_dir / 'logs'} (Ctrl-C ends)", flush=True)
    while state_dir.exists():
        for path in log_files(state_dir, names):
            positions[path] = print_new_lines(path, positions.get(path))
        time.sleep(POLL_SECONDS)  # noqa: TID251 - a command line tool without a loop
    return 0


def log_files(state_dir: Path, names: Sequence[str]) -> Iterator[Path]:
    for path in sorted((state_dir / "logs").glob("*.log")):
        if not names or path.stem in names:
            yield path


def print_new_lines(path: Path, position: int | None) -> int:
    """Print the complete lines after `position`, and return the next position."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:  # `make down` has just removed the log
        return 0
    if position is None or position > size:
        position = max(0, size - INITIAL_TAIL_BYTES)
    with path.open("rb") as log:
        log.seek(position)
        text = log.read(size - position)
    complete = text[: text.rfind(b"\n") + 1]
    for line in complete.decode(errors="replace").splitlines():
        print(f"{path.stem:<24}| {line}", flush=True)
    return position + len(complete)
