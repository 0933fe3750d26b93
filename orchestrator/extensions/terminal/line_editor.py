"""The prompt: editing, history, completion and keys."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_session
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output

from orchestrator.extensions.terminal.input_history import InputHistory

MENU_ROWS = 6
QUIT = {"quit": "leave; the agent keeps working"}


@dataclass(frozen=True)
class ChatCompleter(Completer):
    """Completes the chat's commands and their arguments.

    ``commands`` returns them with descriptions, ``words`` a command's possible arguments.
    """

    commands: Callable[[], Mapping[str, str]]
    words: Callable[[str], Iterable[str]]

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        del complete_event
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, begun = text[1:].partition(" ")
        if space:
            for word in self.words(name):
                if word.startswith(begun):
                    yield Completion(word, start_position=-len(begun))
            return
        for command, about in {**self.commands(), **QUIT}.items():
            if command.startswith(name):
                yield Completion(
                    f"/{command}", start_position=-len(text), display_meta=about.partition(";")[0]
                )


def make_line_editor(
    message: Callable[[], str],
    history: InputHistory,
    completer: ChatCompleter,
    on_interrupt: Callable[[], None],
) -> PromptSession[str]:
    """Make a prompt in which Enter sends and Alt-Enter adds a line.

    ``message`` returns the prompt with everything above it.
    """
    output = get_app_session().output
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # a slow terminal would answer into the typed text
    session: PromptSession[str] = PromptSession(
        lambda: ANSI(message()),
        history=history,
        completer=completer,
        complete_while_typing=Condition(lambda: session.default_buffer.text.startswith("/")),
        reserve_space_for_menu=MENU_ROWS,
        multiline=True,
        prompt_continuation="  ",
        key_bindings=_build_key_bindings(on_interrupt),
        enable_open_in_editor=True,
        output=output,
    )
    return session


def _build_key_bindings(on_interrupt: Callable[[], None]) -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def on_enter(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=typing)
    def on_alt_enter(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    @keys.add("c-c", filter=typing)
    def on_ctrl_c(event: KeyPressEvent) -> None:
        del event
        on_interrupt()

    return keys
