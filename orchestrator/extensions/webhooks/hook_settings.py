"""Settings of webhooks: how requests are signed and handled."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from orchestrator.agentsfile.channel_settings import LocalChannel, RoutedEntry
from orchestrator.agentsfile.field_types import (
    FRAMING,
    HEADER_VALUE,
    AnyHeader,
    ConfigModel,
    EntryName,
    HttpUrl,
    NamedHeaders,
    Text,
)
from orchestrator.extensions.webhooks.hook_template import DEFAULT, require_path, require_template
from thinker.protocol.names import ChatName

OF_HTTP = FRAMING | {
    *("connection", "content-type", "expect", "host", "keep-alive", "te", "trailer", "upgrade")
}


def _require_free_header(value: str) -> str:
    if value.lower() in OF_HTTP:
        raise ValueError(f"must not be {value}, which HTTP itself sets; write another name")
    return value


def _require_header_start(value: str) -> str:
    if not HEADER_VALUE.fullmatch(f"{value}0"):
        raise ValueError(
            "is a text that no request can carry; write it in one line, without a space before it"
        )
    return value


FreeHeader = Annotated[AnyHeader, AfterValidator(_require_free_header)]


HeaderStart = Annotated[str, AfterValidator(_require_header_start)]


TOLERANCE = 300  # seconds


def _normalize_chat_name(value: str) -> str:
    return str(ChatName.parse(value))


HookTemplate = Annotated[Text, AfterValidator(require_template)]
HookPath = Annotated[Text, AfterValidator(require_path)]
NamedChat = Annotated[Text, AfterValidator(_normalize_chat_name)]


class HookSignature(ConfigModel):
    """Proof that the sender of a request has the secret: an HMAC-SHA256 in a header."""

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
    def _require_fields_of_style(self) -> "HookSignature":
        other = "tolerance_seconds" if self.style == "body" else "prefix"
        if other in self.model_fields_set:
            name = "toleranceSeconds" if self.style == "body" else "prefix"
            raise ValueError(
                f'has "{name}", which the style "{self.style}" does not use; remove it'
            )
        return self


class IncomingHook(RoutedEntry):
    """A webhook whose requests to /hooks/NAME become messages for an agent."""

    secret: Text = Field(repr=False)
    """Secret that the sender signs with; write "${NAME}" and put its value into keys.env."""
    template: HookTemplate = DEFAULT
    """Text of the message; "{{ issue.title }}" stands for a value of the body."""
    signature: HookSignature = HookSignature()
    """How requests are signed."""
    id_header: FreeHeader = "X-GitHub-Delivery"
    """Header that identifies a delivery, so that it counts once; by default the body does."""
    same_body_seconds: int = Field(86_400, ge=0)
    """Seconds in which a signed body counts once, whatever its id; 0: equal bodies are events."""
    only: dict[HookPath, tuple[Text, ...]] = Field(default_factory=dict)
    """Values that a request must have to count, by path, such as "action": ["opened"]."""
    notify_chat: NamedChat | None = None
    """Chat for the answer, such as "telegram:42"; by default only the journal keeps the answer."""


class OutgoingHook(ConfigModel):
    """A server that gets the messages in the chat hook:NAME as JSON."""

    url: HttpUrl = Field(repr=False)
    """Address of the server; redirects are not followed."""
    secret: Text | None = Field(None, repr=False)
    """Secret that requests are signed with; without one they are not."""
    signature: HookSignature = HookSignature()
    """How requests are signed."""
    id_header: FreeHeader = "Idempotency-Key"
    """Header that identifies a message, with the same value whenever the message is sent again."""
    text_field: Text = "text"
    """Field of the body that has the text, such as "content" for Discord."""
    headers: NamedHeaders = Field(default_factory=dict, repr=False)
    """Further headers; `${NAME}` is filled in."""


class HookChannel(LocalChannel):
    """Webhooks. The endpoints of `channels.api` take them, with or without a token."""

    entry_nouns: ClassVar[Mapping[str, str]] = {"incoming": "webhook", "outgoing": "webhook"}
    routing_field: ClassVar[str] = "incoming"

    incoming: dict[EntryName, IncomingHook] = Field(default_factory=dict)
    """What becomes of requests to /hooks/NAME, by name."""
    outgoing: dict[EntryName, OutgoingHook] = Field(default_factory=dict)
    """Servers that are told what is said in the chats hook:NAME, by name."""

    @property
    def opens_endpoints(self) -> bool:
        """Whether signed requests reach the port of the HTTP API."""
        return self.enabled and bool(self.incoming)


class HookChannels(ConfigModel):
    """The webhooks' entries in `channels`."""

    hook: HookChannel = HookChannel()
    """Webhooks."""
