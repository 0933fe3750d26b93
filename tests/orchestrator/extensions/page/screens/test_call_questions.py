"""The card of a call that waits for a person."""

import re
from dataclasses import replace

import pytest
from fakes.screens import html, request

from orchestrator.extensions.page.screens.call_questions import format_wish, render_question
from orchestrator.journal.inspect.chat_history import OpenQuestion
from thinker.protocol.messages import ToolSpec

QUESTION = OpenQuestion(
    code="c0de",
    seq=2,
    tool="office_send_mail",
    arguments='{"body":"Dear Bob,\\n\\nhello","to":"bob@example.org"}',
    args_hash="hash",
    reason="the configuration requires approval for this tool",
    expires=1_774_000_060_000,
    side_effect="non_idempotent",
    agent_id="home",
    turn_id="t1",
    chat_key="telegram/1/7/",
    sender="Anna",
)


def spec(about: str) -> ToolSpec:
    """A tool with a description."""
    return ToolSpec(name="office_send_mail", description=about, parameters={})


@pytest.mark.parametrize(
    ("about", "wish"),
    [
        ("Send a mail. It may take a while.", "send a mail"),
        ("Sends a mail to someone", "send a mail to someone"),
        ("Searches the wiki: fast.", "search the wiki"),
        ("Copies a file\nto a place", "copy a file to a place"),
        ("Weather of a place.", "use office_send_mail"),
        ("", "use office_send_mail"),
        ("\u202eSend", "use office_send_mail"),
    ],
)
def test_wish_is_in_the_words_of_the_tool(about: str, wish: str) -> None:
    """A description that does not continue the sentence is left out."""
    assert format_wish("office_send_mail", spec(about)) == wish


def test_question_says_who_what_and_why_before_the_decisions() -> None:
    """The recipient before the text, which has its lines; the reason belongs to the refusal."""
    tools = {("t1", "office_send_mail"): spec("Send a mail")}
    shown = html(render_question(request(), QUESTION, tools))
    order = [
        *("home wants to send a mail", "for Anna in telegram:7", "1 min left"),
        *("bob@example.org", "Dear Bob,\n\nhello", "requires approval", "Allow once"),
        *('name="note"', ">Deny<"),
    ]
    places = [shown.index(part) for part in order]
    assert places == sorted(places)
    assert shown.count('name="argsHash" value="hash"') == 2
    allow, deny = re.findall(r"<form.*?</form>", shown, re.DOTALL)
    assert 'value="true"' in allow
    assert "note" not in allow
    assert 'value="false"' in deny
    assert 'class="do" data-key="a"' in allow
    assert 'class="danger" data-key="d"' in deny


def test_question_has_no_buttons_for_those_who_may_not_decide() -> None:
    """They see only what waits."""
    assert "<form" not in html(render_question(request("chat"), QUESTION, {}))


def test_question_of_a_chat_without_a_name_is_of_its_place() -> None:
    """It is no task: only one of the page has neither a name nor a place."""
    nameless = replace(QUESTION, sender="", chat_key="console/local/asks/")
    shown = html(render_question(request(), nameless, {}))
    assert ">in console:asks</a>" in shown
    assert "a task" not in shown


def test_question_about_several_calls_shows_each_and_one_pair_of_decisions() -> None:
    """Alike calls are one wish; each argument has a label that says where it is from."""
    page = {"to": ("web", "evil.example", True), "body": ("user", "", False)}
    other = replace(QUESTION, code="c0de.3", seq=3, arguments='{"to":"eve"}', sources=page)
    shown = html(render_question(request(), replace(QUESTION, others=(other,)), {}))
    assert "home wants to use office_send_mail (2 times)" in shown
    assert shown.index("bob@example.org") < shown.index("eve")
    assert "Allow these 2 once" in shown
    assert shown.count("<form") == 2
    assert '<small class="origin">from the page evil.example</small>' in shown


def test_arguments_that_decide_stand_first() -> None:
    """Whatever their names are."""
    sources = {"body": ("tool", "wiki", True), "to": ("user", "", False)}
    shown = html(render_question(request(), replace(QUESTION, sources=sources), {}))
    assert shown.index("Dear Bob") < shown.index("bob@example.org")
    assert "the user wrote it" in shown


def test_answer_for_good_is_offered_to_operators_where_it_may_stand() -> None:
    """It is bound to what is shown, as the decisions are."""
    sources = {"to": ("model", "", True)}
    standing = replace(QUESTION, may_stand=True, sources=sources)
    shown = html(render_question(request(), standing, {}))
    assert "Always for this recipient" in shown
    assert shown.count('name="argsHash" value="hash"') == 3
    assert "Always" not in html(render_question(request("approver"), standing, {}))
    assert "Always" not in html(render_question(request(), replace(standing, may_stand=False), {}))
    nameless = replace(standing, sources={})
    assert "Always for calls like this" in html(render_question(request(), nameless, {}))
    mixed = replace(standing, others=(QUESTION,))
    assert "Always" not in html(render_question(request(), mixed, {}))
