"""A check that keeps confusing words out of code and docs: `python -m hack.word_list`.

The check is a tripwire, not the goal: a synonym of a listed word is the same defect. Text in
backticks is a name and not prose, so the check ignores it.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
THIS_FILE: Final = Path(__file__).resolve().relative_to(ROOT)

# the pattern of a word, and the advice
ADVICE: Final = {
    r"some(body|one)|nobody|no one|who(m|so)?ever": "name the caller, the process or the user",
    r"whatever": "say which: 'any', 'every', or 'also if ...'",
    r"anew": "'again', or 'recreated'",
    r"for ever": "'until it is cancelled', 'without a limit'",
    r"(is|are|was|were) told( of)?|told of": "say who gets which message",
    r"to be had": "'available'",
    r"heed(s|ed|ing)?|lest|thereof|moot|as it were|tidings": "plain English",
    r"hitch|lookout|sighting|farewell|patience": "the field's word: blocker, snapshot, retry",
    r"(LONGEST|MOST|LARGEST|DEEPEST|FULLEST)_[A-Z]\w*": "MAX_...",
    r"(SHORTEST|FEWEST)_[A-Z]\w*": "MIN_...",
}
_WORDS: Final = re.compile(
    "|".join(rf"(?P<w{number}>\b({word})\b)" for number, word in enumerate(ADVICE)), re.IGNORECASE
)
_NAME: Final = re.compile(r"``?[^`\n]*``?")


def find_words(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the word and the advice of every listed word in a text."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _WORDS.finditer(_NAME.sub("", line)):
            group = match.lastgroup or "w0"
            yield number, match[0], list(ADVICE.values())[int(group[1:])]


def tracked_files() -> list[Path]:
    """List the tracked source files and pages, relative to the root."""
    command = ["git", "-C", str(ROOT), "ls-files", "*.py", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.splitlines() if (ROOT / name).is_file()]


def main() -> int:
    """Print every listed word with its place; the exit code is 1 if there is one."""
    found = 0
    for path in tracked_files():
        if path == THIS_FILE:
            continue
        for number, word, advice in find_words((ROOT / path).read_text()):
            print(f"{path}:{number}: {word!r}: {advice}", file=sys.stderr)
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
