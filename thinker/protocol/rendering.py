"""The request ``prompt/render``: a definition by itself, as workers render it."""

from thinker.protocol.environments import Environments
from thinker.protocol.messages import Frozen, JsonObject, ToolSpec


class PromptRender(Frozen):
    """Show a definition by itself: ``prompt`` is a `PromptBundle` in JSON."""

    prompt: JsonObject
    layout: str
    tools: tuple[ToolSpec, ...] = ()
    environments: Environments = Environments()


class SectionRecord(Frozen):
    """A section of a rendered definition: what it is, where it came from, its text alone."""

    id: str
    source: str
    text: str


class PromptRendered(Frozen):
    """A definition as it was asked for; ``problem`` is why it could not be, empty otherwise."""

    text: str = ""
    fingerprint: str = ""
    sections: tuple[SectionRecord, ...] = ()
    problem: str = ""
