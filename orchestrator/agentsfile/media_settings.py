"""Models of an agent's additional models: embeddings, voice and pictures."""

from typing import Literal, Self

from pydantic import Field, model_validator

from orchestrator.agentsfile.field_types import ConfigModel, HttpUrl, Language, PictureSize, Text
from orchestrator.agentsfile.provider_names import (
    EmbeddingsProvider,
    PictureProvider,
    SpeechProvider,
    TranscriptionProvider,
)
from thinker.protocol.providers import CUSTOM
from thinker.protocol.served_models import SIZES, SpeechFormat


class ServedModelSettings(ConfigModel):
    """A model at any server with OpenAI's API."""

    model: Text
    """The provider's name for the model."""
    provider: str | None = None
    """Where the model runs; without it `baseUrl` is called without a key."""
    base_url: HttpUrl | None = None
    """Address of the API when it is not the provider's usual one."""

    @model_validator(mode="after")
    def _require_provider_or_url(self) -> Self:
        if self.provider is None and self.base_url is None:
            raise ValueError('needs "provider" or "baseUrl"; set one of them')
        return self

    @property
    def name(self) -> str:
        """The model as usage records and prices name it: ``provider/model``."""
        return f"{self.provider or CUSTOM}/{self.model}"


class EmbeddingsModel(ServedModelSettings):
    """An embeddings model, at any server that has OpenAI's `/embeddings`."""

    provider: EmbeddingsProvider | None = None
    """Where the model runs; without it `baseUrl` is called without a key."""
    dimensions: int | None = Field(None, ge=1, le=4096)
    """Length of the vectors, for models that can shorten them; the model's own when absent."""
    messages: bool = False
    """Whether messages get vectors, too, so that a search finds what was said by its meaning.

    The model is sent each message once, with its author's name."""


class TranscriptionModel(ServedModelSettings):
    """A model that transcribes recordings, through OpenAI's `/audio/transcriptions`."""

    provider: TranscriptionProvider | None = None
    """Where the model runs; without it `baseUrl` is called without a key."""
    language: Language | None = None
    """The language of the recordings, such as `de`; detected when absent."""


class SpeechModel(ServedModelSettings):
    """A model that speaks answers, through OpenAI's `/audio/speech`."""

    provider: SpeechProvider | None = None
    """Where the model runs; without it `baseUrl` is called without a key."""
    voice: Text
    """The provider's name for the voice, such as `alloy`."""
    when: Literal["voice", "always", "never"] = "voice"
    """Which answers are spoken: those to voice messages ("voice"), all, or none."""
    format: SpeechFormat = "opus"
    """The format to request; Telegram shows "opus", "mp3" and "aac" as voice messages."""


class Voice(ConfigModel):
    """Models that transcribe recordings and speak answers."""

    hear: TranscriptionModel | None = None
    """The model that transcribes; without it the agent only knows that there is a recording."""
    speak: SpeechModel | None = None
    """The model that speaks; without it answers are only text."""


class PictureSizes(ConfigModel):
    """The provider's names for picture sizes, such as `1792x1024`."""

    square: PictureSize = SIZES["square"]
    """Size of a square picture."""
    wide: PictureSize = SIZES["wide"]
    """Size of a landscape picture."""
    tall: PictureSize = SIZES["tall"]
    """Size of a portrait picture."""


class PictureModel(ServedModelSettings):
    """A model that draws pictures, through OpenAI's `/images/generations`."""

    provider: PictureProvider | None = None
    """Where the model runs; without it `baseUrl` is called without a key."""
    sizes: PictureSizes = PictureSizes()
    """The sizes to request."""
    quality: Text | None = None
    """The provider's name for a quality, such as `low`; its default when absent."""
