"""The conversation at a terminal: a prompt that stays while answers are printed above it."""

from collections.abc import Iterable, Mapping

import anyio
from anyio.abc import TaskGroup
from prompt_toolkit.document import Document

from orchestrator.cli.chat.input_history import InputHistory
from orchestrator.cli.chat.line_editor import ChatCompleter, line_editor
from orchestrator.cli.chat.link import ChatLink
from orchestrator.cli.chat.transcript import Transcript
from orchestrator.control.protocol import ChatEvent, ChatOutcome, ChatScene, ChatSend
from orchestrator.errors import OrchestratorError, only_cause
from orchestrator.settings import Settings

TICK = 0.5  # seconds between updates of the times of what runs
PROMPT, QUESTION = "> ", "Run it once? y/n > "
GRANT, DENY = ("y", "yes"), ("n", "no")
QUIT, STOP = "/quit", "/stop"
STOPPING = "stopping; Ctrl-C again leaves"
LEAVE_HINT = "Ctrl-C again leaves, and so does Ctrl-D"
GOES_ON = "The agent goes on; its answer will stand here when you come back."


class Repl:
    """One conversation at the terminal of this process."""

    def __init__(self, settings: Settings, chat: str, agent: str | None) -> None:
        self._history = InputHistory(settings.paths.chat_history, chat)
        completer = ChatCompleter(self._commands, self._words)
        self._editor = line_editor(self._prompt, self._history, completer, self._interrupt)
        self._output = self._editor.output
        self._transcript = Transcript(f"console:{chat}", self._write, self._size)
        self._link = ChatLink(settings, chat, agent, self._see, self._relink)
        self._draft = ""  # what was being typed when a question came
        self._asked = ""  # the code of the question at the prompt
        self._interrupted = False  # since the last message

    async def run(self) -> None:
        """Talk until the user leaves.

        Raises:
            NotRunningError: no daemon runs at the start.
            UnknownAgentError: no such agent answers.
        """
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks: TaskGroup = tasks
                self._transcript.open(await tasks.start(self._link.run))
                tasks.start_soon(self._tick)
                await self._talk()
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise only_cause(group) from None
        if self._transcript.waiting:
            self._transcript.complain(GOES_ON)

    async def _talk(self) -> None:
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
                self._answer(text)
            elif text:
                message = self._link.message(text)
                self._transcript.sent(message.message)
                self._tasks.start_soon(self._send, message)

    def _answer(self, text: str) -> None:
        """Decide the question at the prompt."""
        word = text.lower()
        if word in (*GRANT, *DENY):
            self._tasks.start_soon(self._decide, self._asked, word in GRANT)
            self._transcript.questions.pop(self._asked, None)
        elif text:
            self._transcript.complain("This call waits for your answer: y or n.")

    async def _send(self, message: ChatSend) -> None:
        try:
            outcome = await self._link.send(message)
        except OrchestratorError as error:
            outcome = ChatOutcome(state="failed", error=str(error))
        self._transcript.ended(message.message, outcome)
        self._editor.app.invalidate()

    async def _decide(self, code: str, granted: bool) -> None:  # noqa: FBT001 - a task's argument
        try:
            await self._link.decide(code, granted=granted)
        except OrchestratorError as error:
            self._transcript.complain(str(error))

    # --- keys -------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        """Clear what is typed; else stop the answer; the second time leave."""
        buffer = self._editor.default_buffer
        if buffer.text:
            buffer.reset()
            self._interrupted = False
        elif self._interrupted:
            self._editor.app.exit(exception=EOFError)
        else:
            self._interrupted = True
            if self._transcript.waiting:
                self._transcript.remark(STOPPING)
                message = self._link.message(STOP)
                self._transcript.sent(message.message, awaited=False)
                self._tasks.start_soon(self._send, message)
            else:
                self._transcript.remark(LEAVE_HINT)

    def _commands(self) -> Mapping[str, str]:
        scene = self._transcript.scene
        return {} if scene is None else scene.commands

    def _words(self, command: str) -> Iterable[str]:
        """Return what may follow a command."""
        scene = self._transcript.scene
        if command in ("pause", "resume") and scene is not None:
            return scene.agents
        return tuple(self._transcript.questions) if command in ("approve", "deny") else ()

    # --- what the daemon tells --------------------------------------------------------------

    def _see(self, event: ChatEvent) -> None:
        self._transcript.see(event)
        self._check_question()
        self._editor.app.invalidate()

    def _relink(self, scene: ChatScene | None) -> None:
        self._transcript.link(scene)
        self._check_question()
        self._editor.app.invalidate()

    def _check_question(self) -> None:
        """Ask the oldest open question, apart from what was typed before it came."""
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

    def _prompt(self) -> str:
        above = "" if self._editor.app.is_done else self._transcript.below()
        return above + (QUESTION if self._asked else PROMPT)

    def _size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    def _write(self, text: str) -> None:
        """Print above the prompt, which is drawn again below.

        The terminal stays in raw mode, in which a key that is pressed meanwhile is not lost.
        """
        app = self._editor.app
        if app.is_running:
            app.renderer.erase()
        self._output.write_raw(text)
        self._output.flush()
        app.invalidate()

    async def _tick(self) -> None:
        """Let the times of what runs go on."""
        while True:
            await anyio.sleep(TICK)
            if self._transcript.waiting:
                self._editor.app.invalidate()
