"""A check that keeps confusing words out of code and docs: `python -m hack.word_list`.

A synonym of a listed word is the same defect. The check ignores text in backticks, which are names,
and names that Kubernetes or Linux prescribe.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
OWN_FILES: Final = {Path("hack/word_list.py"), Path("tests/unit/hack/test_word_list.py")}

# The patterns of words in prose and in snake_case names, in any case, and the advice.
WORDS: Final = {
    r"some(body|one)|nobody|no one|who(m|so)?ever": "name the caller, the process or the user",
    r"whatever": "say which: 'any', 'every', or 'also if ...'",
    r"anew": "'again', or 'recreated'",
    r"for ever": "'until it is cancelled', 'without a limit'",
    r"(is|are|was|were) told( of)?|told of": "say who gets which message",
    r"to be had": "'available'",
    r"heed(s|ed|ing)?|lest|thereof|moot|as it were|tidings": "plain English",
    r"hitch|lookout|sighting|farewell|patience": "the field's word: blocker, snapshot, retry",
    r"(come|comes|came) to nothing|in vain": "'failed'",
    r"that which": "name the value",
    r"for each in": "name the item: 'for task in tasks'",
}
# The patterns of constants; only capitals match.
CONSTANTS: Final = {
    r"(LONGEST|MOST|LARGEST|DEEPEST|FULLEST)_[A-Z]\w*": "MAX_...",
    r"(SHORTEST|FEWEST)_[A-Z]\w*": "MIN_...",
}
ADVICE: Final = [*WORDS.values(), *CONSTANTS.values()]
_PATTERNS: Final = [
    *(rf"(?<![a-zA-Z0-9])(?i:{word.replace(' ', '[ _]')})(?![a-zA-Z0-9])" for word in WORDS),
    *(rf"\b{constant}\b" for constant in CONSTANTS),
]
_FORBIDDEN: Final = re.compile(
    "|".join(f"(?P<w{number}>{pattern})" for number, pattern in enumerate(_PATTERNS))
)
# Text in backticks, and the user `nobody` of Linux.
_NAME: Final = re.compile(r"``?[^`\n]*``?|\"nobody\"|\bNOBODY\b")


def find_words(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the word and the advice of every listed word in a text."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _FORBIDDEN.finditer(_NAME.sub("", line)):
            group = match.lastgroup or "w0"
            yield number, match[0], ADVICE[int(group[1:])]


def tracked_files() -> list[Path]:
    """List the tracked source files and pages, relative to the root."""
    command = ["git", "-C", str(ROOT), "ls-files", "*.py", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.splitlines() if (ROOT / name).is_file()]


def main() -> int:
    """Print every listed word with its line; the exit code is 1 if there is one."""
    is_clean = True
    for path in tracked_files():
        if path in OWN_FILES:
            continue
        for number, word, advice in find_words((ROOT / path).read_text()):
            print(f"{path}:{number}: {word!r}: {advice}", file=sys.stderr)
            is_clean = False
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
