"""Models of webhooks: how a request is signed, and what becomes of one."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from orchestrator.agentsfile.field_types import (
    AgentId,
    ConfigModel,
    FreeHeader,
    HeaderStart,
    HttpUrl,
    NamedHeaders,
    Text,
)
from orchestrator.agentsfile.hook_template import DEFAULT, checked_path, checked_template
from thinker.protocol.names import ChatName

TOLERANCE = 300  # seconds


def _chat(value: str) -> str:
    return str(ChatName.parse(value))


HookTemplate = Annotated[Text, AfterValidator(checked_template)]
HookPath = Annotated[Text, AfterValidator(checked_path)]
NamedChat = Annotated[Text, AfterValidator(_chat)]


class HookSignature(ConfigModel):
    """How a request shows that its sender has the secret: an HMAC-SHA256 in a header."""

    style: Literal["body", "timestamp"] = "body"
    """ "body": the body is signed, as GitHub does; "timestamp": its time too, as Stripe does."""
    header: FreeHeader = "X-Hub-Signature-256"
    """Header that has the signature."""
    prefix: HeaderStart = "sha256="
    """Text before the signature, of the style "body"."""
    encoding: Literal["hex", "base64"] = "hex"
    """How the signature is written."""
    tolerance_seconds: int = Field(TOLERANCE, ge=1)
    """How old or new a request may be, of the style "timestamp"."""

    @model_validator(mode="after")
    def _of_its_style(self) -> "HookSignature":
        other = "tolerance_seconds" if self.style == "body" else "prefix"
        if other in self.model_fields_set:
            name = "toleranceSeconds" if self.style == "body" else "prefix"
            raise ValueError(f'has "{name}", which the style "{self.style}" has not; remove it')
        return self


class IncomingHook(ConfigModel):
    """What becomes of a request to /hooks/NAME: a message for an agent."""

    agent_id: AgentId
    """The agent that the message is for."""
    secret: Text = Field(repr=False)
    """Secret that the sender signs with; write "${NAME}" and put its value into keys.env."""
    template: HookTemplate = DEFAULT
    """Text of the message; "{{ issue.title }}" stands for a value of the body."""
    signature: HookSignature = HookSignature()
    """How requests are signed."""
    id_header: FreeHeader = "X-GitHub-Delivery"
    """Header that names a delivery, so that a repeated one counts once; else its body does."""
    only: dict[HookPath, tuple[Text, ...]] = Field(default_factory=dict)
    """Values that a request must have to count, by path, such as "action": ["opened"]."""
    notify_chat: NamedChat | None = None
    """Chat that the answer goes to, such as "telegram:42"; else the journal alone keeps it."""


class OutgoingHook(ConfigModel):
    """A server that is told, as JSON, what is said in the chat hook:NAME."""

    url: HttpUrl = Field(repr=False)
    """Address of the server; redirects are not followed."""
    secret: Text | None = Field(None, repr=False)
    """Secret that requests are signed with; without one they are not."""
    signature: HookSignature = HookSignature()
    """How requests are signed."""
    id_header: FreeHeader = "Idempotency-Key"
    """Header that names a message, alike whenever it is sent again."""
    text_field: Text = "text"
    """Field of the body that has the text, such as "content" for Discord."""
    headers: NamedHeaders = Field(default_factory=dict, repr=False)
    """Further headers; `${NAME}` is filled in."""
