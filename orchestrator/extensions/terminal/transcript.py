"""The visible chat: what is printed permanently, and what still changes below."""

import time
from collections.abc import Callable
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from orchestrator.chat_texts import format_on_one_line
from orchestrator.cli.conversation import ANSWERED
from orchestrator.cli.output import format_minute, make_printable
from orchestrator.control.agent_report import name_model
from orchestrator.control.protocol import (
    ChatCall,
    ChatEntry,
    ChatEvent,
    ChatExchange,
    ChatOutcome,
    ChatScene,
)
from orchestrator.extensions.terminal.answer_stream import AnswerStream
from orchestrator.extensions.terminal.markdown_lines import MarkdownLines

HOW_TO = "Ctrl-D leaves, Ctrl-C stops an answer, Alt-Enter adds a line, /help lists more."
SOURCES = {
    "task": "from a scheduled task",
    "tool": "sent by {agent}",
    "notice": "from the daemon",
    "answer": "{agent} answers a message from elsewhere",
}
STOPPED = "stopped by "  # begins the error of a message whose answer was stopped
DIM, WRONG, MARK = "dim", "red", "⚙"
EXCERPT = 5  # lines of each text of an earlier exchange
DRAWN = 4000  # characters of an unfinished block that are drawn; the rest has long scrolled away


class Transcript:
    """Turns the events of a chat into text for a terminal.

    ``write`` prints text permanently. ``size`` returns the terminal's columns and rows; ``place``
    is the chat's name on the command line.
    """

    def __init__(
        self,
        place: str,
        write: Callable[[str], None],
        size: Callable[[], tuple[int, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scene: ChatScene | None = None
        self.questions: dict[str, ChatEntry] = {}  # by code, oldest first
        self.waiting: dict[str, float] = {}  # own messages without an answer, and since when
        self._away = False  # the daemon
        self._own: set[str] = set()
        self._place = place
        self._write = write
        self._size = size
        self._clock = clock
        self._colors = Console().color_system
        self._stream: AnswerStream | None = None
        self._calls: dict[tuple[str, int], tuple[ChatCall, float]] = {}  # those that run
        self._note = ""  # what a running call waits for
        self._drawn: list[str] = []  # the unfinished block
        self._drawn_for = "", (0, 0)  # its text and the terminal's size

    @property
    def agent(self) -> str:
        return "" if self.scene is None else self.scene.agent_id or ""

    # --- what happens -----------------------------------------------------------------------

    def open(self, scene: ChatScene) -> None:
        """Print who answers, how to leave, and the last messages."""
        self.scene = scene
        model = name_model(scene.provider, scene.model) or "not started"
        head = make_printable(f"{scene.agent_id} ({model}) in {self._place}")
        self._print_part(Text(head, style="bold"))
        self._print_part(Text(HOW_TO, style=DIM))
        for exchange in scene.recent:
            self._show_exchange(exchange)
        for question in scene.questions:
            self._show_question(question)

    def show_link_change(self, scene: ChatScene | None) -> None:
        """Print that the daemon went away, or is back."""
        self._away = scene is None
        if scene is None:
            self.show_remark("the daemon went away; waiting for it to come back")
            self._calls.clear()
            return
        self.scene = scene
        self.show_remark("the daemon is back")
        for question in scene.questions:
            self._show_question(question)

    def add_sent_message(self, message_id: str, *, awaited: bool = True) -> None:
        """Add a message that was typed here."""
        self._own.add(message_id)
        if awaited:
            self.waiting[message_id] = self._clock()

    def end_message(self, message_id: str, outcome: ChatOutcome) -> None:
        """Handle the end of a message; its reply comes as an event."""
        self.waiting.pop(message_id, None)
        if outcome.state == ANSWERED:
            return
        self._end_response()
        self._stream = None
        self._calls.clear()
        problem = outcome.error or outcome.state
        if problem.startswith(STOPPED):
            self.show_remark(make_printable(problem))
        else:
            self.show_problem(problem)

    def show_event(self, event: ChatEvent) -> None:
        """Handle an event of the chat."""
        if event.answer is not None:
            self._extend_answer(event.answer.turn_id, event.answer.text)
        if event.call is not None:
            self._show_call(event.call)
        if event.message is not None:
            self._show_message(event.message)

    def show_problem(self, problem: str) -> None:
        self._print_part(Text(make_printable(problem), style=WRONG))

    def show_remark(self, text: str) -> None:
        self._print_part(Text(f"— {text} —", style=DIM))

    # --- below the printed text -------------------------------------------------------------

    def render_unfinished(self) -> str:
        """Render what still changes, leaving room for the prompt."""
        columns, rows = self._size()
        most = max(0, min(rows - 6, rows * 2 // 3))
        lines = [*self._draw_unfinished_block()] if most else []
        for call, since in self._calls.values():
            lines += self._render_part(self._format_call(call, self._clock() - since)).splitlines()
        if self._note:
            lines += self._render_part(_format_line(self._note, columns - 1, DIM)).splitlines()
        if self.waiting and not self.questions:
            since = min(self.waiting.values())
            what = "waits for the daemon" if self._away else f"{self.agent} works on it"
            text = f"… {what}, {self._clock() - since:.0f} s"
            lines += self._render_part(_format_line(text, columns - 1, DIM)).splitlines()
        return "".join(f"{line}\n" for line in lines[-most:]) if most else ""

    def _draw_unfinished_block(self) -> list[str]:
        text = "" if self._stream is None else self._stream.unprinted_text
        if (text, self._size()) != self._drawn_for:  # each key that is pressed asks for it
            whole = len(text) <= DRAWN
            shown = MarkdownLines(text) if whole else Text(make_printable(text[-DRAWN:]))
            self._drawn = self._render_part(shown).strip("\n").splitlines() if text.strip() else []
            self._drawn_for = text, self._size()
        return self._drawn

    # --- the parts --------------------------------------------------------------------------

    def _extend_answer(self, turn_id: str, text: str) -> None:
        if any(turn == turn_id for turn, _ in self._calls):
            self._note = text.rpartition("\n")[2]  # the response is printed above it already
            return
        if self._stream is None or self._stream.turn_id != turn_id:
            self._end_response()
            self._stream = AnswerStream(turn_id)
            if not self.waiting:
                self.show_remark(SOURCES["answer"].format(agent=self.agent))
        self._print_paragraph(self._stream.update_text(text))

    def _end_response(self) -> None:
        self._note = ""
        if self._stream is not None:
            self._print_paragraph(self._stream.end_response())

    def _show_call(self, call: ChatCall) -> None:
        key = (call.turn_id, call.seq)
        if key not in self._calls:
            self._end_response()
        if call.seconds is None:
            self._calls[key] = call, self._clock()
            return
        _, since = self._calls.pop(key, (call, self._clock()))
        self._note = ""
        seconds = max(call.seconds, self._clock() - since)
        self._print_part(self._format_call(call, seconds))
        if call.problem is not None:
            columns, _ = self._size()
            self._print_part(_format_line(f"  failed: {call.problem}", columns - 1, WRONG))

    def _format_call(self, call: ChatCall, seconds: float) -> Text:
        columns, _ = self._size()
        by = f"{call.agent_id}: " if call.agent_id != self.agent else ""
        arguments = format_on_one_line(dict(call.arguments)) if call.arguments else ""
        end = f" {seconds:.1f} s"
        text = make_printable(f"{MARK} {by}{call.tool} {arguments}".rstrip())
        line = _format_line(f"{text} …", max(10, columns - 1 - len(end)), "")
        return line.append(end, style=DIM)

    def _show_message(self, message: ChatEntry) -> None:
        if message.asks:
            self._show_question(message)
        elif message.settles:
            self.questions.pop(message.settles, None)
            self._print_part(Text(make_printable(message.text)))
        else:
            self._show_reply(message)

    def _show_question(self, question: ChatEntry) -> None:
        if question.asks not in self.questions:
            self._end_response()
            self._print_paragraph(question.text)
            self.questions[question.asks] = question

    def _show_reply(self, message: ChatEntry) -> None:
        text, streamed = message.text, False
        if message.source == "answer":
            self._forget_calls(message.turn_id)
            if self._stream is not None and self._stream.turn_id == message.turn_id:
                text, self._stream, streamed = self._stream.finish_reply(text), None, True
        own = message.source != "tool" and self._own.intersection(message.answers)
        if not own and not streamed:
            who = SOURCES[message.source].format(agent=message.agent_id or self.agent)
            self.show_remark(f"{who}, {format_minute(message.at)} UTC")
        if own and self.scene is not None and message.agent_id not in ("", self.agent):
            self.scene = self.scene.model_copy(update={"agent_id": message.agent_id})
            self.show_remark(f"{message.agent_id} answers here now")
        if message.markdown:
            self._print_paragraph(text)
        else:
            self._print_part(Text(make_printable(text) + "\n"))

    def _forget_calls(self, turn_id: str) -> None:
        for key in [key for key in self._calls if key[0] == turn_id]:
            del self._calls[key]

    def _show_exchange(self, exchange: ChatExchange) -> None:
        self.show_remark(f"{format_minute(exchange.at)} UTC")
        if exchange.text:
            self._print_part(Text(f"> {_format_excerpt(exchange.text)}", style=DIM))
        reply = self._render_part(MarkdownLines(_format_excerpt(exchange.reply), DIM)).strip("\n")
        self._write(f"{reply}\n\n" if reply else "\n")

    # --- drawing ----------------------------------------------------------------------------

    def _print_paragraph(self, text: str) -> None:
        if text.strip():
            self._write(self._render_part(MarkdownLines(text)).strip("\n") + "\n\n")

    def _print_part(self, part: RenderableType) -> None:
        self._write(self._render_part(part))

    def _render_part(self, part: RenderableType) -> str:
        """Render text for the terminal, without trailing blanks."""
        columns, rows = self._size()
        console = Console(
            file=StringIO(),
            width=max(10, columns),
            height=max(1, rows),  # without it rich takes 80 columns for some terminals
            force_terminal=True,
            color_system=self._colors,  # type: ignore[arg-type]  # its own name for one of them
            highlight=False,
        )
        with console.capture() as drawn:
            console.print(part)
        return "".join(f"{line.rstrip(' ')}\n" for line in drawn.get().splitlines())


def _format_line(text: str, columns: int, style: str) -> Text:
    line = Text(make_printable(text.replace("\n", " ")), style=style, no_wrap=True, end="\n")
    line.truncate(max(1, columns), overflow="ellipsis")
    return line


def _format_excerpt(text: str) -> str:
    lines = make_printable(text.strip()).split("\n")
    return "\n".join(lines[:EXCERPT]) + (" …" if len(lines) > EXCERPT else "")
