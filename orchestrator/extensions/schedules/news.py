"""Whether a task has anything to say: the words and results that mean that it has not.

Where: is a task's outcome held back because it says nothing?
"""

import re

QUIET = frozenset({"HEARTBEAT_OK", "NOTHING_TO_REPORT"})  # an answer of a model that is not sent
EMPTY_VALUES = frozenset({"[]", "{}", "null", "false", "0", '""'})
# A line of a tool's result that says nothing: a command's success, and in a file that was read
# blank lines, headings, remarks and empty items, as in the HEARTBEAT.md of other systems.
_NO_NEWS = re.compile(
    r"\s*|exit code 0 after [\d.]+ s|\[the file is empty\]"
    r"|\s*\d+\t\s*(#{1,6}( .*)?|<!--.*-->|[-*]( \[ \])?)?\s*"
)


def has_news(result: str) -> bool:
    """Return whether the result of a check or of a task without a model says anything."""
    lines = [line for line in result.splitlines() if not _NO_NEWS.fullmatch(line)]
    return bool(lines) and "".join(lines).strip() not in EMPTY_VALUES


def is_quiet_answer(answer: str) -> bool:
    """Return whether a model answered that there is nothing to report, and nothing else."""
    return answer.strip(" \t\r\n*_`.!\"'") in QUIET
