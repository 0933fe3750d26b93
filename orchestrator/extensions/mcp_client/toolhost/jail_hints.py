"""Say that a jail may be the reason, when a server reports that something was refused."""

import re

from orchestrator.extensions.mcp_client.toolhost.wire import ToolAnswer
from thinker.protocol.sandbox import SandboxReport

REFUSED = re.compile(
    r"\b(EACCES|EPERM)\b|permission denied|operation not permitted|access is denied", re.IGNORECASE
)
ADVICE = (
    'its jail may be the reason: it may write only to its own folder and read no keys; "sandbox" of'
    " the server in agents.json opens more (orchestrator help tools)"
)


def explain_problem_in_jail(problem: str, jail: SandboxReport | None) -> str:
    """Return a problem of a server's connection, with advice if the jail may be the reason."""
    return f"{problem}; {ADVICE}" if _may_be_reason(problem, jail) else problem


def explain_answer_in_jail(answer: ToolAnswer, jail: SandboxReport | None) -> ToolAnswer:
    """Return an answer, with advice below if that is an error and the jail may be the reason."""
    if not answer.is_error or not _may_be_reason(answer.content, jail):
        return answer
    return answer.model_copy(update={"content": f"{answer.content}\n({ADVICE})"})


def _may_be_reason(text: str, jail: SandboxReport | None) -> bool:
    return jail is not None and jail.level != "off" and bool(REFUSED.search(text))
