"""Settings of an agent's models for sound and pictures: the provider, address and options of each.

The supervisor writes them to a worker's environment as JSON.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, model_validator

SpeechFormat: TypeAlias = Literal["opus", "mp3", "aac", "flac", "wav"]
PictureShape: TypeAlias = Literal["square", "wide", "tall"]
SIZES: Mapping[PictureShape, str] = MappingProxyType(
    {"square": "1024x1024", "wide": "1536x1024", "tall": "1024x1536"}
)


class ServedModel(BaseModel):
    """A model at a provider or, without one, at a server that only has an address."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str
    provider: str = ""
    base_url: str = ""

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a variable holds
        return json.loads(value) if isinstance(value, str) else value


class HearingModel(ServedModel):
    """A model that turns recordings into text; ``language`` is the expected language, if any."""

    language: str = ""


class SpeakingModel(ServedModel):
    """A model that speaks with one ``voice``."""

    voice: str
    format: SpeechFormat = "opus"


class DrawingModel(ServedModel):
    """A model that draws; ``sizes`` are the server's names of shapes, if they differ from `SIZES`.

    An empty ``quality`` leaves the choice to the server.
    """

    sizes: dict[PictureShape, str] = {}
    quality: str = ""

    def find_size(self, shape: PictureShape) -> str:
        return self.sizes.get(shape, SIZES[shape])
