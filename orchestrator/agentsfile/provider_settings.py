"""Settings of providers: new ones, and changes to known ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, field_validator

from orchestrator.agentsfile.field_types import ConfigModel, HttpUrl, Text, is_dangerous_variable
from orchestrator.agentsfile.provider_names import AUTO, LikeProvider
from thinker.protocol.providers import CUSTOM, PROVIDERS, Ability, Provider

TAKEN = frozenset({AUTO, CUSTOM, "demo"})  # names that mean something else
KEY_ENDINGS = ("KEY", "TOKEN")  # which the daemon erases from its environment
NEEDED = ("messages", "model")  # fields that every request needs
NO_KEYS = "TELEGRAM_BOT_TOKEN"  # and those of accounts


class ProviderTimeouts(ConfigModel):
    """How long to wait for a provider; what is absent follows from its address."""

    connect_seconds: float | None = Field(None, gt=0, le=120)
    """Seconds to open a connection; 10 when absent."""
    first_token_seconds: float | None = Field(None, gt=0, le=3600)
    """Seconds to the first piece of an answer; 90, or 900 on this machine or its network."""
    idle_seconds: float | None = Field(None, gt=0, le=3600)
    """Seconds between two pieces; 60, or 300 on this machine or its network."""


class ProviderSettings(ConfigModel):
    """A server with OpenAI's API under a new name, or changes to a known provider."""

    base_url: HttpUrl | None = None
    """Address of the API, such as `https://llm.example/v1`; needed unless the name is known."""
    like: LikeProvider | None = None
    """Known provider whose rules apply, such as "azure" for a second resource."""
    key_variable: Text | None = None
    """Variable that holds the key, such as `ACME_API_KEY`; without one, no key is sent."""
    api_version: Text | None = None
    """Value of `api-version` in the address, as Azure requires."""
    default_model: Text | None = None
    """Model of agents that name none."""
    context_tokens: int | None = Field(None, ge=512, le=100_000_000)
    """Tokens that the models read at once, if neither server nor table says it right."""
    tools: bool | None = None
    """Whether the models call tools natively; otherwise they write calls as text."""
    images: bool | None = None
    """Whether the models see pictures; otherwise they read descriptions."""
    structured_output: Literal["schema", "json", "none"] | None = None
    """What enforces the form of an answer: a JSON schema, JSON mode, or only the prompt."""
    embeddings: bool | None = None
    """Whether the provider has `/embeddings`."""
    transcription: bool | None = None
    """Whether the provider has `/audio/transcriptions`."""
    speech: bool | None = None
    """Whether the provider has `/audio/speech`."""
    drawing: bool | None = None
    """Whether the provider has `/images/generations`."""
    timeouts: ProviderTimeouts = ProviderTimeouts()
    """How long to wait for answers, such as `{ "firstTokenSeconds": 1800 }` for a slow machine."""
    omits: tuple[Text, ...] | None = Field(None)
    """Fields of a request that the provider refuses, such as `stream_options`."""

    @field_validator("key_variable")
    @classmethod
    def _require_secret_variable(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not (value.isidentifier() and value.isascii()) or is_dangerous_variable(value):
            raise ValueError("must be the name of a variable, such as ACME_API_KEY")
        if not value.endswith(KEY_ENDINGS) or value.startswith(NO_KEYS):
            raise ValueError(
                "must end in KEY or TOKEN, and must not be another token of the daemon"
            )
        return value

    @field_validator("omits")
    @classmethod
    def _forbid_needed_omits(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in NEEDED:
            if name in (value or ()):
                raise ValueError(f'must not have "{name}", which every request needs; remove it')
        return value

    def build_provider(self, name: str) -> Provider:
        """Return the provider with this name."""
        model = PROVIDERS.get(self.like or name, Provider(name))
        stated: dict[str, Any] = {"name": name}
        if name not in PROVIDERS:  # neither key nor model of another server
            stated |= {"key_var": None, "default_model": "", "title": "", "aliases": ()}
            stated |= {"model_var": Provider(name).model_var, "local": False}
        if self.base_url:
            stated["base_url"] = self.base_url.rstrip("/")
        optional = {
            "key_var": self.key_variable,
            "api_version": self.api_version,
            "default_model": self.default_model,
            "context_tokens": self.context_tokens,
        }
        stated |= {field: value for field, value in optional.items() if value is not None}
        waits = self.timeouts.model_dump(exclude_none=True)
        if waits:
            own = {field.removesuffix("_seconds"): seconds for field, seconds in waits.items()}
            stated["timeouts"] = {**model.timeouts, **own}
        if self.omits is not None:
            stated["requests"] = replace(model.requests, omits=self.omits)
        return replace(model, can=self._list_abilities(model), **stated)

    def _list_abilities(self, model: Provider) -> tuple[Ability, ...]:
        switches: dict[Ability, bool | None] = {
            "tools": self.tools,
            "images": self.images,
            "embeddings": self.embeddings,
            "transcription": self.transcription,
            "speech": self.speech,
            "drawing": self.drawing,
        }
        if self.structured_output is not None:
            switches |= {"schema": False, "json": False}
            if self.structured_output != "none":
                switches[self.structured_output] = True
        kept = [ability for ability in model.can if switches.get(ability) is not False]
        added = [ability for ability, on in switches.items() if on and ability not in kept]
        return (*kept, *added)


def merge_providers(own: Mapping[str, ProviderSettings]) -> Mapping[str, Provider]:
    """Return the providers that agents of a file can name."""
    if not own:
        return PROVIDERS
    return {**PROVIDERS, **{name: settings.build_provider(name) for name, settings in own.items()}}
