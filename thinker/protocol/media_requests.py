"""Wire requests to draw pictures.

As in `background`, the supervisor decides and stores, and the worker makes the model calls.
"""

from base64 import b64decode, b64encode
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer

from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Frozen
from thinker.protocol.served_models import PictureShape

PICTURE_DRAW = "picture/draw"  # DrawingRequest → DrawingResult

MAX_PICTURES = 4  # of one request
MAX_DRAWN_BYTES = 11_000_000  # of all pictures of one request
MAX_DESCRIPTION_CHARACTERS = 4000  # of the description of a picture


def _decode_wire_bytes(value: object) -> object:
    return b64decode(value, validate=True) if isinstance(value, str) else value


Content: TypeAlias = Annotated[  # bytes here, base64 on the wire
    bytes,
    BeforeValidator(_decode_wire_bytes),
    PlainSerializer(lambda data: b64encode(data).decode()),
]


class DrawingRequest(Frozen):
    """Pictures to draw from a description."""

    prompt: Annotated[str, Field(min_length=1, max_length=MAX_DESCRIPTION_CHARACTERS)]
    shape: PictureShape = "square"
    count: Annotated[int, Field(ge=1, le=MAX_PICTURES)] = 1


class DrawingResult(MeteredResult):
    """The pictures as contents of files."""

    drawn: tuple[Content, ...] = Field((), repr=False)
