"""The request ``prompt/render``: a prompt definition rendered by a worker."""

from thinker.protocol.environments import Environments
from thinker.protocol.messages import Frozen, JsonObject, ToolSpec


class PromptRender(Frozen):
    """A request to render a definition; ``prompt`` is a `PromptBundle` as JSON."""

    prompt: JsonObject
    layout: str
    tools: tuple[ToolSpec, ...] = ()
    environments: Environments = Environments()


class SectionRecord(Frozen):
    """One section of a rendered definition: its id, its source and its text."""

    id: str
    source: str
    text: str


class PromptRendered(Frozen):
    """A rendered definition; ``problem`` says why rendering failed, or is empty."""

    text: str = ""
    fingerprint: str = ""
    sections: tuple[SectionRecord, ...] = ()
    problem: str = ""
