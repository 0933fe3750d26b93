"""The messages of a chat, drawn from plain values."""

from dataclasses import replace

from fakes.screens import NOW, html, request

from orchestrator.extensions.page.reads.answer_costs import AnswerCost
from orchestrator.extensions.page.screens.chat_talk import (
    DEFUSED,
    ChatTalk,
    list_visible_turns,
    render_talk,
)
from orchestrator.journal.inspect.chat_history import (
    CallLine,
    InboundLine,
    OpenQuestion,
    SentLine,
    TurnTalk,
)

OWN = "web/local/ann/1/"
ASKED = InboundLine(1, "message", "ann", "hello", NOW, "done", None, "t1", None, "m1")
SAID = SentLine("the answer", markdown=True, notice=False, state="delivered", error=None, at=NOW)
TALK = TurnTalk("t1", None, "home", "closed", "done", None, NOW, NOW + 1500, [ASKED], [], [SAID])

QUESTION = OpenQuestion(
    code="c0de",
    seq=2,
    tool="pay",
    arguments='{"to":"bob"}',
    args_hash="hash",
    reason="because",
    expires=NOW + 60_000,
    side_effect="keyed",
    agent_id="home",
    turn_id="t1",
    chat_key=OWN,
    sender="ann",
)


def draw(*turns: TurnTalk, key: str = OWN, role: str = "operator") -> str:
    """A chat of these turns."""
    costs = {"t1": AnswerCost("demo/small", 12_000, 0.0042)}
    return html(render_talk(request(role), ChatTalk(key, turns, {}, costs, {9: "held words"})))


def command(text: str, answer: str) -> list[TurnTalk]:
    """A chat command with the notice that answers it."""
    line = replace(ASKED, id=2, kind="command", text=text, turn_id=None, message_id="m2")
    told = replace(SAID, text=answer, notice=True)
    return [TurnTalk(None, asked=[line]), TurnTalk(None, said=[told])]


def test_answer_has_one_quiet_row_with_its_model_and_cost() -> None:
    """And what one may do with it; the day stands above, the clock beside."""
    shown = draw(TALK)
    for part in ("Today", "hello", "<p>the answer</p>", "data-copy", "Try again"):
        assert part in shown
    assert "demo/small · 2 s · 12\u202fk tokens · $0.0042" in shown
    assert 'href="/turns/t1"' in shown


def test_role_of_chats_sees_neither_cost_nor_turn() -> None:
    """Its own chats only."""
    shown = draw(TALK, role="chat")
    assert "Try again" in shown
    assert "$0.0042" not in shown
    assert "/turns/" not in shown


def test_stop_leaves_one_mark() -> None:
    """The answer says so; neither command nor confirmation is shown."""
    stopped = replace(
        TALK,
        state="cancelled",
        stop_reason="cancelled",
        problem="stopped by web:ann",
        said=[replace(SAID, text="half an\n\n(stopped)")],
    )
    shown = draw(stopped, *command("/stop", "Stopped."))
    assert shown.count("topped") - shown.count('class="stopped"') == 1
    assert "stopped by you" in shown
    assert "half an" in shown
    assert "/stop" not in shown


def test_stop_that_leaves_a_call_open_says_so() -> None:
    """What may have happened is told."""
    turns = command("/stop", "Stopped.\nI couldn't confirm whether this happened: send_mail.")
    shown = draw(*turns)
    assert "send_mail" in shown
    assert "Stopped." not in shown


def test_new_conversation_is_a_line() -> None:
    """Other commands are shown with their answers."""
    shown = draw(*command("/new", "This is a new conversation. I still know the facts."))
    assert '<li class="mark">New conversation' in shown
    assert "/new" not in shown
    assert len(list(list_visible_turns(command("/help", "/new - …")))) == 2


def test_call_is_a_chip_with_its_state_and_result_in_words() -> None:
    """Not the envelope of the journal."""
    result = '{"role":"tool","call_id":"c","content":"\\u001b[31msunny"}'
    call = CallLine(1, "weather", '{"place":"Lisbon"}', "done", result, NOW, NOW + 1210)
    shown = draw(replace(TALK, calls=[call]))
    assert '<code>weather</code><span class="about">Lisbon</span>' in shown
    assert "done</span> 1.21 s" in shown
    assert '<div class="text">sunny</div>' in shown
    assert "call_id" not in shown


def test_address_that_was_made_harmless_is_explained() -> None:
    """Once below the answer."""
    assert draw(replace(TALK, said=[replace(SAID, text="hxxps://a[.]example")])).count(DEFUSED) == 1
    assert DEFUSED not in draw(TALK)


def test_empty_answer_is_not_drawn() -> None:
    """Nor one that only waits."""
    assert 'class="answer"' not in draw(replace(TALK, said=[replace(SAID, text="")]))


def test_message_that_waits_for_admission_shows_its_words() -> None:
    """They are no empty file."""
    line = replace(ASKED, id=9, text="", turn_id=None, state="cancelled", error="not let in")
    shown = draw(TurnTalk(None, asked=[line]), key="telegram/1/7/")
    assert "held words" in shown
    assert "until you let this chat in" in shown
    assert "problem" not in shown


def test_failed_answer_says_why_and_can_be_tried_again() -> None:
    """Delivery that is unknown is said, too."""
    failed = replace(
        TALK,
        state="failed",
        problem="no key for <groq>",
        said=[replace(SAID, state="unknown", error="timed out")],
    )
    shown = draw(failed)
    assert "no key for &lt;groq&gt;" in shown
    assert "it is not known whether this arrived: timed out" in shown
    assert "Try again" in shown


def test_call_that_waits_says_for_whom() -> None:
    """Its arguments are in the card below it, once."""
    call = CallLine(2, "pay", '{"to":"bob"}', "planned", "", None, None)
    waiting = replace(TALK, state="waiting", said=[], calls=[call], questions=[QUESTION])
    shown = draw(waiting)
    assert shown.count("waits for your decision") == 2
    assert "is next" not in shown
    assert shown.count("<dl") == 1
    assert "Allow once" in shown
    assert draw(waiting, role="chat").count("waits for a decision") == 2


def test_words_of_a_chat_that_was_not_let_in_are_said_to_be_deleted() -> None:
    """In place of an empty message that waits."""
    line = replace(ASKED, text="", state="cancelled", turn_id=None, error="not paired yet")
    shown = draw(TurnTalk(None, asked=[line]), key="telegram/1/9/")
    assert "was not let in, so what it wrote was deleted" in shown
    assert "not paired yet" not in shown
    assert 'class="said"' not in shown


def test_notice_stands_before_the_answer_that_came_after_it() -> None:
    """In the order of time; one that came later stays below."""
    answered = replace(TALK, said=[replace(SAID, at=NOW + 900)])
    early = TurnTalk(None, said=[replace(SAID, text="needs approval", notice=True, at=NOW + 100)])
    late = TurnTalk(None, said=[replace(SAID, text="a later notice", notice=True, at=NOW + 950)])
    shown = draw(answered, early, late, role="viewer")
    places = [shown.index(text) for text in ("hello", "needs approval", "the answer", "a later")]
    assert places == sorted(places)


def test_answer_is_where_a_chat_can_go_on_from() -> None:
    """Who may change something can also try it, or make it a test."""
    shown = draw(TALK)
    for path in ("/try/t1", "/turns/t1/test", "/fork/t1", "/rewind/t1"):
        assert f'href="{path}"' in shown
    own = draw(TALK, role="chat")
    assert 'href="/fork/t1"' in own
    assert "/try/" not in own
    assert "/fork/" not in draw(TALK, role="chat", key="web/local/bob/1/")


def test_what_a_rewind_left_is_folded() -> None:
    """Its answers stay, in one fold that says so."""
    later = [replace(TALK, turn_id=turn) for turn in ("t2", "t3")]
    chat = ChatTalk(OWN, [TALK, *later], {}, {}, {}, left=frozenset({"t2", "t3"}))
    shown = html(render_talk(request(), chat))
    assert "2 answers left behind" in shown
    assert shown.count("<p>the answer</p>") == 3
    assert shown.index('id="turn-t1"') < shown.index("left behind") < shown.index('id="turn-t2"')
