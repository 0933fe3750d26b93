"""Post to a collector by OTLP over HTTP, and tell what became of it."""

import gzip
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, NamedTuple

import anyio
import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from thinker.http.exchange import HttpError, Network
from thinker.http.origin import address
from thinker.http.retry_after import retry_after
from thinker.protocol.visible_text import printable

# The data are wrong or too many, so that the same request fails for ever. All else may pass.
WRONG_DATA = frozenset(
    {
        *(HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
MAX_ANSWER = 64 * 1024  # bytes
EXCERPT = 200  # characters of an answer that are shown
LONGEST_WAIT = 3600.0  # seconds after which a collector that asked for more is tried again


class Posted(NamedTuple):
    """What became of a request.

    ``taken``: the collector has it, but for ``rejected`` items. ``refused``: it will never take it.
    ``later``: it may take it, after ``wait`` seconds if it named them. ``problem`` says why.
    """

    outcome: Literal["taken", "refused", "later"]
    problem: str = ""
    rejected: int = 0
    wait: float | None = None


class _Partial(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    rejected_spans: int = 0
    rejected_data_points: int = 0
    error_message: str = ""


class _Answer(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    partial_success: _Partial = _Partial()


@dataclass(frozen=True)
class OtlpClient:
    """Where one signal goes; ``timeout`` in seconds bounds a request as a whole."""

    url: str
    headers: Mapping[str, str]
    timeout: float
    compressed: bool
    network: Network

    @property
    def server(self) -> str:
        """The name of the server, without what an address may have of a password."""
        return address(self.url).origin.name

    def packed(self, body: bytes) -> bytes:
        """Return a body as it is posted."""
        return gzip.compress(body, compresslevel=5, mtime=0) if self.compressed else body

    async def post(self, packed: bytes, now: float) -> Posted:
        """Post what `packed` has returned; ``now`` in seconds since the epoch."""
        headers = {**self.headers, "content-type": "application/json"}
        if self.compressed:
            headers["content-encoding"] = "gzip"
        body = b""
        try:
            with anyio.fail_after(self.timeout):
                answer = await self.network.send("POST", self.url, headers, packed)
                with suppress(HttpError):  # the status says all that counts
                    body = await answer.read(MAX_ANSWER)
        except TimeoutError:
            return Posted("later", f"no answer in {self.timeout:g} seconds")
        except HttpError as error:
            return Posted("later", str(error))
        if answer.success:
            return _taken(body)
        text = _excerpt(body.decode("utf-8", "replace"))
        problem = f"status {answer.status}" + (f", {text}" if text else "")
        if answer.status in WRONG_DATA:
            return Posted("refused", problem)
        wait = retry_after(answer.headers, now)
        return Posted("later", problem, wait=None if wait is None else min(wait, LONGEST_WAIT))


def _taken(body: bytes) -> Posted:
    """Read what was not taken; an answer of another form tells of nothing."""
    try:
        partial = _Answer.model_validate(orjson.loads(body)).partial_success
    except (orjson.JSONDecodeError, ValidationError):
        return Posted("taken")
    rejected = partial.rejected_spans + partial.rejected_data_points
    return Posted("taken", _excerpt(partial.error_message), rejected)


def _excerpt(text: str) -> str:
    """Return the beginning of what a collector says, in one line that drives no terminal."""
    return printable(" ".join(text[:EXCERPT].split()))
