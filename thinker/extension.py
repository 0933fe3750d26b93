"""The interface between the worker and its extensions; neither knows more of the other.

An extension of the worker is a subclass of `WorkerExtension`, named by an entry point of the group
``thinker.extensions``, below `orchestrator.extensions`. It runs in the jailed process of an agent,
which can read no code later: it is imported before the jail closes, with all that it needs.

Where: does an extension add something to the workers?
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from thinker.loop import LoopHost
    from thinker.models.base import Model
    from thinker.models.embeddings import EmbeddingModel
    from thinker.models.served_endpoint import ServedModelEndpoint
    from thinker.protocol.background import MeteredResult
    from thinker.protocol.env import ThinkerSettings
    from thinker.protocol.messages import Frozen, Message, ToolSpec
    from thinker.protocol.methods import RecordedStep, TurnRun
    from thinker.protocol.model_endpoints import ServedUse
    from thinker.protocol.prompt_record import PromptRecord
    from thinker.protocol.served_models import ServedModel
    from thinker.worker_errors import ModelError

GROUP = "thinker.extensions"  # of entry points
OWN = "orchestrator.extensions."  # begins the modules of bundled extensions


@dataclass(frozen=True)
class BackgroundRequest:
    """A request of the supervisor outside turns: what it carries, and what answers it.

    One that ``gives_way`` is cancelled while a turn waits for the model. ``describe`` makes the
    text of an error; a provider's own words may quote what was sent.
    """

    kind: "type[Frozen]"
    answer: "Callable[[Any], Awaitable[MeteredResult]]"
    gives_way: bool = False
    describe: "Callable[[ModelError], str]" = str


@dataclass(frozen=True)
class WorkerView:
    """An extension's view of its worker.

    ``small`` is the model for background work, often the agent's own. ``find_endpoint`` returns
    where a further model is served, and raises `WorkerConfigError`. Whatever is entered into
    ``stack`` is closed with the worker.
    """

    settings: "ThinkerSettings"
    small: "Model"
    embeddings: "EmbeddingModel | None"
    find_endpoint: "Callable[[ServedUse, ServedModel], ServedModelEndpoint]"
    stack: AsyncExitStack


class TurnHooks(Protocol):
    """What changes or observes one turn."""

    async def run_start_hooks(self, turn: "TurnRun") -> None:
        """Act once at the start of a turn that no other process began."""

    async def filter_prompt(self, record: "PromptRecord") -> "PromptRecord":
        """Return the prompt to use."""

    async def filter_messages(self, messages: "tuple[Message, ...]") -> "tuple[Message, ...]":
        """Return the conversation to use; raise `FatalModelError` to end the turn."""

    async def replay_steps(self, steps: "Sequence[RecordedStep]") -> "list[RecordedStep]":
        """Return the steps of an earlier process as this turn is to see them."""

    def wrap_model(self, model: "Model") -> "Model":
        """Return the model to ask instead."""

    def wrap_host(self, host: "LoopHost") -> "LoopHost":
        """Return the host to use instead."""


class AnswerJudge(Protocol):
    """What compares the last answer of a turn with what was done."""

    def find_false_claims(
        self, text: str, messages: "Sequence[Message]", tools: "Collection[ToolSpec]"
    ) -> str:
        """Return what to tell the model about claims of its answer; empty if the answer may stand.

        ``messages`` are those that the model read before it, ``tools`` what it could have called.
        The same of all three must give the same.
        """


class WorkerExtension:
    """What an extension adds to every worker. All of it is optional."""

    adapters: "Mapping[str, Callable[..., Model]]" = MappingProxyType({})
    """Makers of models, keyed by the provider's ``wire``; called like `OpenAIChat`."""

    def prepare_worker(self, settings: "ThinkerSettings") -> None:
        """Read the files that the worker's agent needs: a jailed process cannot."""
        del settings

    def list_requests(self, worker: WorkerView) -> Mapping[str, BackgroundRequest]:
        """Return the further requests that the worker answers, keyed by method."""
        del worker
        return {}

    def load_hooks(
        self, settings: "ThinkerSettings", turn: "TurnRun", names: Sequence[str]
    ) -> TurnHooks | None:
        """Return the hooks of a turn by their names, or None."""
        del settings, turn, names
        return None

    def build_answer_judge(
        self, settings: "ThinkerSettings", turn: "TurnRun"
    ) -> AnswerJudge | None:
        """Return what judges the answer of a turn before it stands, or None."""
        del settings, turn
        return None

    def offer_tools_as_text(self, model: "Model", *, full: bool) -> "Model | None":
        """Return the model with its tools offered as text, or None; ``full`` with whole schemas."""
        del model, full
        return None


def describe_missing_extension(name: str, loss: str) -> str:
    """Return what is lost without a bundled extension that was deleted, and what to do."""
    advice = "run: pip install --force-reinstall orchestrator-daemon"
    return f"the extension {name!r} is not installed, {loss}; {advice}"


@cache
def list_extensions() -> tuple[WorkerExtension, ...]:
    """Import and return the bundled extensions, in order of their names.

    A folder that was deleted below `orchestrator/extensions` is simply not there.
    """
    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if not point.value.startswith(OWN):
            continue
        try:
            found.append(point.load()())
        except ModuleNotFoundError as error:
            if not f"{point.module}.".startswith(f"{error.name}."):
                raise  # of a library that the extension needs
    return tuple(found)
