"""What is said when a server in a jail was refused something."""

import pytest

from orchestrator.extensions.mcp_client.toolhost.jail_hints import (
    explain_answer_in_jail,
    explain_problem_in_jail,
)
from orchestrator.extensions.mcp_client.toolhost.wire import ToolAnswer
from thinker.protocol.sandbox import SandboxReport

JAIL = SandboxReport("full")
REFUSALS = (
    "EACCES: permission denied, open '/srv/docs/b.txt'",
    "[Errno 13] Permission denied: '/srv/a'",
    "listen EPERM: operation not permitted",
)


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal_names_the_jail_and_the_field_that_opens_it(text: str) -> None:
    """To the model, which tells it, and in the status."""
    answer = explain_answer_in_jail(ToolAnswer(content=text, is_error=True), JAIL)
    assert answer.content.startswith(f"{text}\n(its jail may be the reason")
    assert '"sandbox" of the server in agents.json opens more' in answer.content
    assert explain_problem_in_jail(text, JAIL).startswith(f"{text}; its jail may be the reason")


@pytest.mark.parametrize(
    ("text", "jail"),
    [(REFUSALS[0], None), (REFUSALS[0], SandboxReport("off")), ("no such file", JAIL)],
)
def test_other_problems_and_servers_without_a_jail_get_no_advice(
    text: str, jail: SandboxReport | None
) -> None:
    """The advice must be true."""
    answer = ToolAnswer(content=text, is_error=True)
    assert explain_answer_in_jail(answer, jail) == answer
    assert explain_problem_in_jail(text, jail) == text


def test_result_that_is_no_error_stays_as_it_is() -> None:
    """A page may be about permissions."""
    answer = ToolAnswer(content=REFUSALS[0])
    assert explain_answer_in_jail(answer, JAIL) == answer
