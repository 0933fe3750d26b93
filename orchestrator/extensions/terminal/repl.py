"""The conversation at a terminal: answers are printed above the prompt."""

from collections.abc import Iterable, Mapping

import anyio
from anyio.abc import TaskGroup
from prompt_toolkit.document import Document

from orchestrator.control.protocol import ChatEvent, ChatOutcome, ChatScene, ChatSend
from orchestrator.errors import OrchestratorError, unwrap_cause
from orchestrator.extensions.terminal.input_history import InputHistory
from orchestrator.extensions.terminal.line_editor import ChatCompleter, make_line_editor
from orchestrator.extensions.terminal.link import ChatLink
from orchestrator.extensions.terminal.transcript import Transcript
from orchestrator.settings import Settings

TICK = 0.5  # seconds between updates of the times of what runs
PROMPT, QUESTION = "> ", "Run it once? y/n > "
GRANT, DENY = ("y", "yes"), ("n", "no")
QUIT, STOP = "/quit", "/stop"
STOPPING = "stopping; Ctrl-C again leaves"
LEAVE_HINT = "Ctrl-C again leaves, and so does Ctrl-D"
GOES_ON = "The agent keeps working; you will see its answer when you return."


class Repl:
    """One conversation at the terminal of this process."""

    def __init__(self, settings: Settings, chat: str, agent: str | None) -> None:
        self._history = InputHistory(settings.paths.chat_history, chat)
        completer = ChatCompleter(self._list_commands, self._list_words)
        self._editor = make_line_editor(
            self._render_prompt, self._history, completer, self._on_interrupt
        )
        self._output = self._editor.output
        self._transcript = Transcript(f"console:{chat}", self._write_above_prompt, self._get_size)
        self._link = ChatLink(settings, chat, agent, self._on_event, self._on_link_change)
        self._draft = ""  # what was being typed when a question came
        self._asked = ""  # the code of the question at the prompt
        self._interrupted = False  # since the last message

    async def run(self) -> None:
        """Talk until the user leaves.

        Raises:
            NotRunningError: no daemon runs at the start.
            UnknownAgentError: the agent does not exist, or none answers.
        """
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks: TaskGroup = tasks
                self._transcript.open(await tasks.start(self._link.run))
                tasks.start_soon(self._refresh_times)
                await self._read_messages()
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise unwrap_cause(group) from None
        if self._transcript.waiting:
            self._transcript.show_problem(GOES_ON)

    async def _read_messages(self) -> None:
        """Read messages and act on them, until the user leaves."""
        while True:
            self._check_question()
            draft, self._draft = ("", self._draft) if self._asked else (self._draft, "")
            try:
                text = await self._editor.prompt_async(default=draft)
            except EOFError:
                return
            self._interrupted = False
            text = text.encode(errors="replace").decode().strip()
            if text == QUIT:
                return
            if self._asked and not text.startswith("/"):
                self._answer_question(text)
            elif text:
                message = self._link.make_message(text)
                self._transcript.add_sent_message(message.message)
                self._tasks.start_soon(self._send_message, message)

    def _answer_question(self, text: str) -> None:
        """Decide the question at the prompt."""
        word = text.lower()
        if word in (*GRANT, *DENY):
            self._tasks.start_soon(self._decide_question, self._asked, word in GRANT)
            self._transcript.questions.pop(self._asked, None)
        elif text:
            self._transcript.show_problem("This call waits for your answer: y or n.")

    async def _send_message(self, message: ChatSend) -> None:
        try:
            outcome = await self._link.send(message)
        except OrchestratorError as error:
            outcome = ChatOutcome(state="failed", error=str(error))
        self._transcript.end_message(message.message, outcome)
        self._editor.app.invalidate()

    async def _decide_question(self, code: str, granted: bool) -> None:  # noqa: FBT001 - a task's argument
        try:
            await self._link.decide_question(code, granted=granted)
        except OrchestratorError as error:
            self._transcript.show_problem(str(error))

    # --- keys -------------------------------------------------------------------------------

    def _on_interrupt(self) -> None:
        """Clear the typed text, or else stop the answer; leave the second time."""
        buffer = self._editor.default_buffer
        if buffer.text:
            buffer.reset()
            self._interrupted = False
        elif self._interrupted:
            self._editor.app.exit(exception=EOFError)
        else:
            self._interrupted = True
            if self._transcript.waiting:
                self._transcript.show_remark(STOPPING)
                message = self._link.make_message(STOP)
                self._transcript.add_sent_message(message.message, awaited=False)
                self._tasks.start_soon(self._send_message, message)
            else:
                self._transcript.show_remark(LEAVE_HINT)

    def _list_commands(self) -> Mapping[str, str]:
        scene = self._transcript.scene
        return {} if scene is None else scene.commands

    def _list_words(self, command: str) -> Iterable[str]:
        """Return the possible arguments of a command."""
        scene = self._transcript.scene
        if command in ("pause", "resume") and scene is not None:
            return scene.agents
        return tuple(self._transcript.questions) if command in ("approve", "deny") else ()

    # --- what the daemon tells --------------------------------------------------------------

    def _on_event(self, event: ChatEvent) -> None:
        self._transcript.show_event(event)
        self._check_question()
        self._editor.app.invalidate()

    def _on_link_change(self, scene: ChatScene | None) -> None:
        self._transcript.show_link_change(scene)
        self._check_question()
        self._editor.app.invalidate()

    def _check_question(self) -> None:
        """Ask the oldest open question, setting typed text aside."""
        code = next(iter(self._transcript.questions), "")
        if code == self._asked:
            return
        begins, buffer = not self._asked, self._editor.default_buffer
        self._asked, self._history.paused = code, bool(code)
        if not self._editor.app.is_running:
            return  # the next prompt begins with the draft
        if begins:
            self._draft = buffer.text
        buffer.document = Document("" if code else self._draft)
        if not code:
            self._draft = ""

    # --- the terminal -----------------------------------------------------------------------

    def _render_prompt(self) -> str:
        above = "" if self._editor.app.is_done else self._transcript.render_unfinished()
        return above + (QUESTION if self._asked else PROMPT)

    def _get_size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    def _write_above_prompt(self, text: str) -> None:
        """Print above the prompt, which is redrawn below.

        The terminal stays in raw mode, so that no key pressed meanwhile is lost.
        """
        app = self._editor.app
        if app.is_running:
            app.renderer.erase()
        self._output.write_raw(text)
        self._output.flush()
        app.invalidate()

    async def _refresh_times(self) -> None:
        """Update the displayed durations."""
        while True:
            await anyio.sleep(TICK)
            if self._transcript.waiting:
                self._editor.app.invalidate()
