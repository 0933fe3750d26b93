"""What the user sees of a chat: what is printed for good, and what still changes below it."""

import time
from collections.abc import Callable
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from orchestrator.chat_texts import on_one_line
from orchestrator.cli._conversation import ANSWERED
from orchestrator.cli._output import minute, printable
from orchestrator.cli.chat.answer_stream import AnswerStream
from orchestrator.cli.chat.markdown_lines import MarkdownLines
from orchestrator.control.protocol import (
    ChatCall,
    ChatEntry,
    ChatEvent,
    ChatExchange,
    ChatOutcome,
    ChatScene,
)

HOW_TO = "Ctrl-D leaves, Ctrl-C stops an answer, Alt-Enter adds a line, /help lists more."
SOURCES = {
    "task": "from a scheduled task",
    "tool": "sent by {agent}",
    "notice": "from the daemon",
    "answer": "{agent} answers a message that was not sent here",
}
STOPPED = "stopped by "  # begins the error of a message whose answer was stopped
DIM, WRONG, MARK = "dim", "red", "⚙"
EXCERPT = 5  # lines of each text of an earlier exchange
DRAWN = 4000  # characters of an unfinished block that are drawn; the rest has long scrolled away


class Transcript:
    """Turns what happens in a chat into text for a terminal.

    ``write`` prints text for good. ``size`` returns the columns and rows of the terminal, and
    ``place`` is the chat as the command line writes it.
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
        """Say who answers, how to leave, and what was said last."""
        self.scene = scene
        model = f"{scene.provider} {scene.model}".strip() or "not started"
        head = printable(f"{scene.agent_id} ({model}) in {self._place}")
        self._print(Text(head, style="bold"))
        self._print(Text(HOW_TO, style=DIM))
        for exchange in scene.recent:
            self._show_earlier(exchange)
        for question in scene.questions:
            self._ask(question)

    def link(self, scene: ChatScene | None) -> None:
        """Say that the daemon went away, or is back."""
        self._away = scene is None
        if scene is None:
            self.remark("the daemon went away; waiting for it to come back")
            self._calls.clear()
            return
        self.scene = scene
        self.remark("the daemon is back")
        for question in scene.questions:
            self._ask(question)

    def sent(self, message_id: str, *, awaited: bool = True) -> None:
        """Take a message as written here."""
        self._own.add(message_id)
        if awaited:
            self.waiting[message_id] = self._clock()

    def ended(self, message_id: str, outcome: ChatOutcome) -> None:
        """Take the end of a message; its reply comes as an event."""
        self.waiting.pop(message_id, None)
        if outcome.state == ANSWERED:
            return
        self._end_response()
        self._stream = None
        self._calls.clear()
        problem = outcome.error or outcome.state
        if problem.startswith(STOPPED):
            self.remark(printable(problem))
        else:
            self.complain(problem)

    def see(self, event: ChatEvent) -> None:
        """Take an event of the chat."""
        if event.answer is not None:
            self._grow(event.answer.turn_id, event.answer.text)
        if event.call is not None:
            self._call(event.call)
        if event.message is not None:
            self._message(event.message)

    def complain(self, problem: str) -> None:
        self._print(Text(printable(problem), style=WRONG))

    def remark(self, text: str) -> None:
        self._print(Text(f"— {text} —", style=DIM))

    # --- below the printed text -------------------------------------------------------------

    def below(self) -> str:
        """Return what still changes, in lines that leave room for the prompt."""
        columns, rows = self._size()
        most = max(0, min(rows - 6, rows * 2 // 3))
        lines = [*self._growing()] if most else []
        for call, since in self._calls.values():
            lines += self._render(self._call_line(call, self._clock() - since)).splitlines()
        if self._note:
            lines += self._render(_line(self._note, columns - 1, DIM)).splitlines()
        if self.waiting and not self.questions:
            since = min(self.waiting.values())
            what = "waits for the daemon" if self._away else f"{self.agent} works on it"
            text = f"… {what}, {self._clock() - since:.0f} s"
            lines += self._render(_line(text, columns - 1, DIM)).splitlines()
        return "".join(f"{line}\n" for line in lines[-most:]) if most else ""

    def _growing(self) -> list[str]:
        text = "" if self._stream is None else self._stream.below
        if (text, self._size()) != self._drawn_for:  # each key that is pressed asks for it
            whole = len(text) <= DRAWN
            shown = MarkdownLines(text) if whole else Text(printable(text[-DRAWN:]))
            self._drawn = self._render(shown).strip("\n").splitlines() if text.strip() else []
            self._drawn_for = text, self._size()
        return self._drawn

    # --- the parts --------------------------------------------------------------------------

    def _grow(self, turn_id: str, text: str) -> None:
        if any(turn == turn_id for turn, _ in self._calls):
            self._note = text.rpartition("\n")[2]  # the response stands above it already
            return
        if self._stream is None or self._stream.turn_id != turn_id:
            self._end_response()
            self._stream = AnswerStream(turn_id)
            if not self.waiting:
                self.remark(SOURCES["answer"].format(agent=self.agent))
        self._paragraph(self._stream.grow(text))

    def _end_response(self) -> None:
        self._note = ""
        if self._stream is not None:
            self._paragraph(self._stream.end())

    def _call(self, call: ChatCall) -> None:
        key = (call.turn_id, call.seq)
        if key not in self._calls:
            self._end_response()
        if call.seconds is None:
            self._calls[key] = call, self._clock()
            return
        _, since = self._calls.pop(key, (call, self._clock()))
        self._note = ""
        seconds = max(call.seconds, self._clock() - since)
        self._print(self._call_line(call, seconds))
        if call.problem is not None:
            columns, _ = self._size()
            self._print(_line(f"  failed: {call.problem}", columns - 1, WRONG))

    def _call_line(self, call: ChatCall, seconds: float) -> Text:
        columns, _ = self._size()
        by = f"{call.agent_id}: " if call.agent_id != self.agent else ""
        arguments = on_one_line(dict(call.arguments)) if call.arguments else ""
        end = f" {seconds:.1f} s"
        text = printable(f"{MARK} {by}{call.tool} {arguments}".rstrip())
        line = _line(f"{text} …", max(10, columns - 1 - len(end)), "")
        return line.append(end, style=DIM)

    def _message(self, message: ChatEntry) -> None:
        if message.asks:
            self._ask(message)
        elif message.settles:
            self.questions.pop(message.settles, None)
            self._print(Text(printable(message.text)))
        else:
            self._reply(message)

    def _ask(self, question: ChatEntry) -> None:
        if question.asks not in self.questions:
            self._end_response()
            self._paragraph(question.text)
            self.questions[question.asks] = question

    def _reply(self, message: ChatEntry) -> None:
        text, streamed = message.text, False
        if message.source == "answer":
            self._forget_calls(message.turn_id)
            if self._stream is not None and self._stream.turn_id == message.turn_id:
                text, self._stream, streamed = self._stream.finish(text), None, True
        own = message.source != "tool" and self._own.intersection(message.answers)
        if not own and not streamed:
            who = SOURCES[message.source].format(agent=message.agent_id or self.agent)
            self.remark(f"{who}, {minute(message.at)} UTC")
        if own and self.scene is not None and message.agent_id not in ("", self.agent):
            self.scene = self.scene.model_copy(update={"agent_id": message.agent_id})
            self.remark(f"{message.agent_id} answers here now")
        if message.markdown:
            self._paragraph(text)
        else:
            self._print(Text(printable(text) + "\n"))

    def _forget_calls(self, turn_id: str) -> None:
        for key in [key for key in self._calls if key[0] == turn_id]:
            del self._calls[key]

    def _show_earlier(self, exchange: ChatExchange) -> None:
        self.remark(f"{minute(exchange.at)} UTC")
        if exchange.text:
            self._print(Text(f"> {_excerpt(exchange.text)}", style=DIM))
        reply = self._render(MarkdownLines(_excerpt(exchange.reply), DIM)).strip("\n")
        self._write(f"{reply}\n\n" if reply else "\n")

    # --- drawing ----------------------------------------------------------------------------

    def _paragraph(self, text: str) -> None:
        if text.strip():
            self._write(self._render(MarkdownLines(text)).strip("\n") + "\n\n")

    def _print(self, part: RenderableType) -> None:
        self._write(self._render(part))

    def _render(self, part: RenderableType) -> str:
        """Return what a terminal is to be sent, without the blanks that fill lines."""
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


def _line(text: str, columns: int, style: str) -> Text:
    line = Text(printable(text.replace("\n", " ")), style=style, no_wrap=True, end="\n")
    line.truncate(max(1, columns), overflow="ellipsis")
    return line


def _excerpt(text: str) -> str:
    lines = printable(text.strip()).split("\n")
    return "\n".join(lines[:EXCERPT]) + (" …" if len(lines) > EXCERPT else "")
