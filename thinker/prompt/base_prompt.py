"""The base prompt: custom file, else persona, else default file, else a built-in sentence.

Profile override replaces whichever was chosen, in every recipe alike (seed 002, suggestion 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from thinker.answers.verdict import AnswerValidator
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import Reasoning
from thinker.protocol.methods import TurnRun
from thinker.skills import Identity, identity

Source = Literal["custom", "persona", "default", "built-in", "profile", "definition"]
Read = Callable[[Path], str]

BUILT_IN = (
    "You are a helpful personal assistant. Be accurate and brief. Use your tools when they help, "
    "and say so when you cannot do something."
)


@dataclass(frozen=True)
class BasePrompt:
    """The chosen text, where it came from, and what was passed over on the way to it."""

    text: str
    source: Source
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Applied:
    """A turn as its prompt definition, if it has one, wants it, and its base prompt.

    ``parallel``: pure tool calls of one response may run at once. ``recent_images``: how many of
    the newest messages show their pictures, None is the agent's own setting. ``contract``: what the
    answer must be, None is any text. ``hooks``: which run, None are the agent's own.
    """

    turn: TurnRun
    base: BasePrompt
    parallel: bool = True
    recent_images: int | None = None
    contract: AnswerValidator | None = None
    reasoning: Reasoning | None = None
    hooks: tuple[str, ...] | None = None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; a byte order mark is not part of it.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8, or the path is none.
    """
    return path.read_text("utf-8-sig")


def remembered(path: Path) -> str:
    """`read_text`, once for each state of the file: a worker inherits what its zygote has read."""
    seen = identity(path)
    return read_text(path) if seen is None else _text_of(path, seen)


@lru_cache(maxsize=8)  # an agent has three at most
def _text_of(path: Path, seen: Identity) -> str:
    del seen  # it is another text when this is another one
    return read_text(path)


def choose(settings: ThinkerSettings, read: Read = read_text) -> BasePrompt:
    """The first usable prompt; an unreadable or empty file is passed over with a warning.

    A persona file that does not exist is no fault: most agents have none.
    """
    warnings: list[str] = []
    for source, path in _candidates(settings):
        try:
            text = read(path)
        except FileNotFoundError:
            if source != "persona":
                warnings.append(f"{path}: the {source} prompt is missing; create the file")
        except (OSError, ValueError) as error:
            warnings.append(f"{path}: the {source} prompt cannot be read ({error}); mend the file")
        else:
            if text.strip():
                return BasePrompt(text, source, tuple(warnings))
            warnings.append(f"{path}: the {source} prompt is empty; write one or remove the file")
    return BasePrompt(BUILT_IN, "built-in", tuple(warnings))


def override(base: BasePrompt, profile_prompt: str | None) -> BasePrompt:
    """The profile's prompt if it has one, else the base prompt."""
    if profile_prompt is None or not profile_prompt.strip():
        return base
    return BasePrompt(profile_prompt, "profile", base.warnings)


class BasePrompts:
    """The base prompt of one agent, read again only when one of its files changed."""

    def __init__(self, settings: ThinkerSettings, read: Read = remembered) -> None:
        self._settings = settings
        self._read = read
        self._paths = [path for _, path in _candidates(settings)]
        self._seen: tuple[Identity | None, ...] | None = None
        self._chosen = BasePrompt(BUILT_IN, "built-in")

    def current(self) -> BasePrompt:
        """The base prompt as the files say now; the same object while they stay the same."""
        # Looked at before reading: an edit in between shows at the next call.
        seen = tuple(map(identity, self._paths))
        if seen != self._seen:
            self._chosen = choose(self._settings, self._read)
            self._seen = seen
        return self._chosen


def _candidates(settings: ThinkerSettings) -> tuple[tuple[Source, Path], ...]:
    persona = settings.persona_dir
    candidates: tuple[tuple[Source, Path | None], ...] = (
        ("custom", settings.system_prompt_path),
        ("persona", persona and persona / settings.agent_id / "instructions.md"),
        ("default", settings.default_system_prompt_path),
    )
    return tuple((source, path) for source, path in candidates if path is not None)
