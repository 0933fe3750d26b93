"""Request and response of the older HTTP interface, with its clients' field names."""

from pydantic import Field

from orchestrator.control.camel_model import CamelModel


class AgentPortMessage(CamelModel):
    """The body of ``POST /process-message``."""

    id: str = Field(min_length=1, max_length=200)
    chat_id: str = Field(min_length=1, max_length=200)
    sender_id: str = Field(max_length=200)
    text: str = Field(max_length=1_000_000)
    channel: str = Field("http", max_length=50)


class AgentPortAnswer(CamelModel):
    """The response to ``POST /process-message``, and to every refused request."""

    success: bool
    response: str | None = None
    tools_used: tuple[str, ...] = ()
    total_steps: int = 0
    error: str | None = None
