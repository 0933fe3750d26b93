"""Choose the base prompt: the custom file, the persona, the default file, or a built-in text.

A profile's prompt replaces the chosen one in every recipe.

Where: is the base prompt chosen?
"""

from pathlib import Path
from typing import Literal, NamedTuple

from thinker.answers.verdict import AnswerValidator
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import Reasoning
from thinker.protocol.methods import TurnRun

Source = Literal["custom", "persona", "default", "built-in", "profile", "definition"]

BUILT_IN = (
    "You are a helpful personal assistant. Be accurate and brief. Use your tools when they help, "
    "and say so when you cannot do something."
)


class BasePrompt(NamedTuple):
    """The chosen text, its source, and a warning for each unusable file."""

    text: str
    source: Source
    warnings: tuple[str, ...] = ()


class TurnPrompt(NamedTuple):
    """A turn with the settings of its prompt definition applied, and its base prompt.

    ``parallel`` says whether pure tool calls of one response may run in parallel.
    ``recent_images`` is the number of newest messages that keep their images; None takes the
    agent's setting. ``contract`` is the contract of the answer; None accepts any text. ``hooks``
    are the hooks to run; None takes the agent's.
    """

    turn: TurnRun
    base: BasePrompt
    parallel: bool = True
    recent_images: int | None = None
    contract: AnswerValidator | None = None
    reasoning: Reasoning | None = None
    hooks: tuple[str, ...] | None = None


def choose_base_prompt(settings: ThinkerSettings) -> BasePrompt:
    """Return the first usable prompt, with a warning for each unreadable or empty file before it.

    A missing persona file gives no warning: most agents have none.
    """
    warnings: list[str] = []
    for source, path in list_candidate_files(settings):
        try:
            text = regular_file.read_text(path, regular_file.BASE_PROMPT)
        except FileMissingError:
            if source == "persona":
                continue
            problem = "is missing; create the file"
        except FileError as error:
            problem = f"cannot be read: {error}"
        else:
            if text.strip():
                # A file ends with the end of a line; a systemPrompt is sent as agents.json has it.
                text = text if source == "custom" else text.rstrip("\r\n")
                return BasePrompt(text, source, tuple(warnings))
            problem = "is empty; write one or remove the file"
        warnings.append(f"{path}: the {source} prompt {problem}")
    return BasePrompt(BUILT_IN, "built-in", tuple(warnings))


def override_base_prompt(base: BasePrompt, profile_prompt: str | None) -> BasePrompt:
    """Return the profile's prompt, or the base prompt for a profile without one."""
    if profile_prompt is None or not profile_prompt.strip():
        return base
    return BasePrompt(profile_prompt, "profile", base.warnings)


def list_candidate_files(settings: ThinkerSettings) -> tuple[tuple[Source, Path], ...]:
    """Return the files that may contain the base prompt, in the order of preference."""
    persona = settings.persona_dir
    paths: tuple[tuple[Source, Path | None], ...] = (
        ("custom", settings.system_prompt_path),
        ("persona", persona and persona / settings.agent_id / "instructions.md"),
        ("default", settings.default_system_prompt_path),
    )
    return tuple((source, path) for source, path in paths if path is not None)
