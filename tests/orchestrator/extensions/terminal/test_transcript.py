"""What a user sees of a chat, for events in several orders."""

from dataclasses import dataclass, field

import pytest
from fakes.control_server import SCENE

from orchestrator.control.protocol import (
    ChatCall,
    ChatEntry,
    ChatEvent,
    ChatExchange,
    ChatOutcome,
    GrowingAnswer,
)
from orchestrator.extensions.terminal.transcript import Transcript

DONE = ChatOutcome(state="done")


@dataclass
class Screen:
    """A transcript, and what it has printed on 60 columns and 20 rows; time stands still."""

    printed: str = ""
    now: float = 0.0
    size: tuple[int, int] = (60, 20)
    transcript: Transcript = field(init=False)

    def __post_init__(self) -> None:
        """Open the chat."""
        self.transcript = Transcript(
            "console:work", self.write, lambda: self.size, lambda: self.now
        )
        self.transcript.open(SCENE)
        self.printed = ""

    def write(self, text: str) -> None:
        """Print."""
        self.printed += text

    def say(self, message_id: str = "m1") -> None:
        """Send a message from here."""
        self.transcript.add_sent_message(message_id)

    def grow(self, text: str, turn_id: str = "t1") -> None:
        """Let the answer grow."""
        answer = GrowingAnswer(turn_id=turn_id, text=text)
        self.transcript.show_event(ChatEvent(chat="work", answer=answer))

    def call(self, seq: int = 2, **fields: object) -> None:
        """Tell of a call of get_time."""
        made = ChatCall(turn_id="t1", seq=seq, agent_id="work", tool="get_time", arguments={})
        self.transcript.show_event(ChatEvent(chat="work", call=made.model_copy(update=fields)))

    def get(self, text: str, **fields: object) -> None:
        """Get the reply to m1, unless ``fields`` say what else."""
        entry = ChatEntry(
            position=1, text=text, markdown=True, at=0, source="answer", turn_id="t1",
            answers=("m1",),
        )  # fmt: skip
        self.transcript.show_event(ChatEvent(chat="work", message=entry.model_copy(update=fields)))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave colors and weights out of the texts."""
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_first_lines_say_who_answers_and_how_to_leave_and_what_was_said_last() -> None:
    """Two lines, and shortened excerpts of the last exchanges."""
    printed = list[str]()
    transcript = Transcript("console:work", printed.append, lambda: (80, 20))
    long = "\n".join(f"line {number}" for number in range(50))
    said = ChatExchange(text="what \x1b[2Jnow?", reply=long, at=0)
    transcript.open(SCENE.model_copy(update={"recent": (said,)}))
    lines = "".join(printed).splitlines()
    assert lines[0] == "work (groq llama) in console:work"
    assert "Ctrl-D leaves" in lines[1]
    assert "> what \N{REPLACEMENT CHARACTER}[2Jnow?" in lines
    assert "line 4 …" in lines
    assert "line 5" not in lines


def test_earlier_reply_is_drawn_as_it_was_and_an_open_message_without_one(screen: Screen) -> None:
    """The signs of Markdown are not shown."""
    recent = (
        ChatExchange(text="may I?", reply="Approved by `ann`.", at=0),
        ChatExchange(text="and now?", reply="", at=0),
    )
    screen.transcript.open(SCENE.model_copy(update={"recent": recent}))
    said = screen.printed[screen.printed.index("> may I?") :].splitlines()
    assert said[:3] == ["> may I?", "Approved by ann.", ""]
    assert said[-2:] == ["> and now?", ""]


def test_answer_is_printed_once_while_it_grows_with_its_line_ends(screen: Screen) -> None:
    """Whole blocks above, the unfinished one below, nothing twice."""
    screen.say()
    screen.grow("one\ntwo\n\n**thr")
    assert screen.printed == "one\ntwo\n\n"
    assert screen.transcript.render_unfinished().splitlines()[0] == "**thr"
    screen.grow("one\ntwo\n\n**three**\n\nfour")
    screen.get("one\ntwo\n\n**three**\n\nfour, five")
    screen.transcript.end_message("m1", DONE)
    assert screen.printed == "one\ntwo\n\nthree\n\nfour, five\n\n"
    assert screen.transcript.render_unfinished() == ""


def test_unfinished_block_shows_its_end_and_leaves_room_for_the_prompt(screen: Screen) -> None:
    """A block of any length; printed whole at its end."""
    code = "```\n" + "\n".join(f"line {number}" for number in range(3000)) + "\n```"
    screen.say()
    screen.grow(code[:-4])
    below = screen.transcript.render_unfinished().splitlines()
    assert len(below) <= screen.size[1] - 6
    assert "line 2999" in below[-2]
    screen.get(code)
    assert [f"line {n}" for n in range(3000)] == [
        line.strip() for line in screen.printed.splitlines() if line.strip()
    ]


def test_terminal_of_a_few_rows_keeps_the_prompt(screen: Screen) -> None:
    """Nothing is shown below what is printed."""
    screen.size = (10, 4)
    screen.say()
    screen.grow("some text that is longer")
    assert screen.transcript.render_unfinished() == ""


def test_call_stands_after_the_text_before_it_with_its_time(screen: Screen) -> None:
    """While it runs it is shown below, with what it waits for; then printed once."""
    screen.say()
    screen.grow("I look.")
    screen.call(arguments={"zone": "Europe/Berlin\x1b[2J"})
    screen.grow("I look.\n\n⏳ Waiting for the server")
    screen.now = 2.0
    below = screen.transcript.render_unfinished()
    assert '⚙ get_time {"zone": "Europe/Berlin\\u001b[2J"} … 2.0 s' in below
    assert "⏳ Waiting for the server" in below
    screen.call(arguments={"zone": "Europe/Berlin"}, seconds=0.2)
    screen.call(seq=3, seconds=0.0, problem="no such\nzone \x1b[2J")
    screen.grow("It is five.")
    screen.get("It is five.")
    assert screen.printed == (
        "I look.\n\n"
        '⚙ get_time {"zone": "Europe/Berlin"} … 2.0 s\n'
        "⚙ get_time … 0.0 s\n"
        "  failed: no such zone \N{REPLACEMENT CHARACTER}[2J\n"
        "It is five.\n\n"
    )


def test_long_call_is_cut_to_the_width_and_wide_signs_count_twice(screen: Screen) -> None:
    """The time stays; a call of another agent names it."""
    screen.call(arguments={"text": "你" * 200}, agent_id="helper", seconds=1.0)
    (line,) = screen.printed.splitlines()
    assert line.startswith('⚙ helper: get_time {"text": "你')
    assert line.endswith("… 1.0 s")
    assert len(line) < 50


def test_message_that_nothing_here_asked_for_says_where_it_is_from(screen: Screen) -> None:
    """A task, a tool, the daemon, another window."""
    screen.get("Water the plants.", source="task", answers=(), turn_id="t9")
    screen.get("By the way.", source="tool", turn_id="t8", agent_id="home")
    screen.get("/help - *list*", source="notice", markdown=False, turn_id="", answers=())
    screen.get("Elsewhere.", answers=("other",), agent_id="work")
    heads = [line for line in screen.printed.splitlines() if line.startswith("—")]
    assert [head.rpartition(", ")[0] for head in heads] == [
        "— from a scheduled task",
        "— sent by home",
        "— from the daemon",
        "— work answers a message from elsewhere",
    ]
    assert "/help - *list*\n" in screen.printed


def test_answer_to_a_command_keeps_its_lines_and_its_signs(screen: Screen) -> None:
    """It is no Markdown; controls are made visible."""
    screen.say()
    screen.get("/a - *x*\n/b - \x1b[2J", source="notice", markdown=False, turn_id="")
    assert screen.printed == "/a - *x*\n/b - \N{REPLACEMENT CHARACTER}[2J\n\n"


def test_message_that_a_tool_sent_leaves_the_growing_answer(screen: Screen) -> None:
    """It has the turn of the answer, and is not its end."""
    screen.say()
    screen.grow("one\n\ntwo")
    screen.get("sent meanwhile", source="tool", agent_id="work")
    screen.get("one\n\ntwo")
    assert screen.printed.count("one") == 1
    assert screen.printed.endswith("sent meanwhile\n\ntwo\n\n")


def test_question_is_open_until_it_is_settled_wherever_that_is(screen: Screen) -> None:
    """It is printed once; its outcome is told."""
    screen.say()
    screen.call(tool="pay")
    for _ in range(2):
        screen.get("May it?", asks="c0de", source="notice")
    assert [*screen.transcript.questions] == ["c0de"]
    screen.get("Denied by ann.", settles="c0de", source="notice")
    screen.call(tool="pay", seconds=0.0, problem="not approved")
    assert not screen.transcript.questions
    assert screen.printed == "May it?\n\nDenied by ann.\n⚙ pay … 0.0 s\n  failed: not approved\n"


def test_stopped_answer_keeps_what_was_said_so_far(screen: Screen) -> None:
    """A reason that is no error is not shown as one."""
    screen.say()
    screen.grow("one\n\ntwo, thr")
    stopped = ChatOutcome(state="cancelled", error="stopped by console:operator")
    screen.transcript.end_message("m1", stopped)
    assert screen.printed == "one\n\ntwo, thr\n\n— stopped by console:operator —\n"
    assert screen.transcript.render_unfinished() == ""


def test_message_that_failed_says_why(screen: Screen) -> None:
    """Without an answer."""
    screen.say()
    screen.transcript.end_message("m1", ChatOutcome(state="dead", error="poi\x1bson"))
    assert screen.printed == "poi\N{REPLACEMENT CHARACTER}son\n"


def test_restart_of_the_daemon_is_told_and_open_questions_are_not_asked_twice(
    screen: Screen,
) -> None:
    """The chat goes on where it was."""
    question = ChatEntry(
        position=1, text="May it?", markdown=True, at=0, source="notice", asks="c0de"
    )
    asking = SCENE.model_copy(update={"questions": (question,)})
    screen.transcript.show_link_change(asking)
    screen.transcript.show_link_change(None)
    screen.transcript.questions.clear()
    screen.say()
    assert screen.transcript.render_unfinished() == "… waits for the daemon, 0 s\n"
    screen.transcript.questions["c0de"] = question
    screen.transcript.show_link_change(asking)
    assert screen.printed.count("May it?") == 1
    assert "the daemon went away" in screen.printed
    assert screen.printed.count("the daemon is back") == 2


def test_agent_that_took_the_chat_over_is_named_once(screen: Screen) -> None:
    """Before its first answer; calls of the other one name that from then on."""
    screen.say()
    for _ in range(2):
        screen.get("Hello.", agent_id="home")
    assert screen.printed == "— home answers here now —\nHello.\n\nHello.\n\n"
    assert screen.transcript.agent == "home"


def test_wider_terminal_draws_the_unfinished_block_anew(screen: Screen) -> None:
    """Its lines are folded for the terminal as it is now."""
    screen.grow("word " * 20)
    narrow = screen.transcript.render_unfinished().splitlines()
    screen.size = (200, 20)
    assert (len(narrow), len(screen.transcript.render_unfinished().splitlines())) == (2, 1)


def test_blocks_stand_one_line_apart_however_they_came(screen: Screen) -> None:
    """Lists and code too, which bring blank lines of their own in a whole document."""
    screen.say()
    screen.grow("one\n\n- a\n- b\n\n## head\n\ntext\n\nend")
    assert [line.strip() for line in screen.printed.splitlines()] == [
        *("one", "", "• a", "• b", "", "head", "", "text", "")
    ]


def test_answer_to_another_window_says_so_before_it_grows(screen: Screen) -> None:
    """And not again at its end."""
    screen.grow("one\n\ntwo")
    screen.get("one\n\ntwo", answers=("other",))
    head = "— work answers a message from elsewhere —"
    assert screen.printed == f"{head}\none\n\ntwo\n\n"
