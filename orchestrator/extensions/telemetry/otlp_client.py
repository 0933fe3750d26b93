"""Post to a collector by OTLP over HTTP, and report the outcome."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from orchestrator import httpx_client
from thinker.http.exchange import SUCCESS, HttpError
from thinker.http.origin import parse_address
from thinker.http.retry_after import parse_retry_after
from thinker.protocol.visible_text import make_printable

# The data are invalid or too large, so the same request would always fail. Other statuses may
# pass.
WRONG_DATA = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
EXCERPT = 200  # characters of an answer that are shown
MAX_WAIT_SECONDS = 3600.0  # after which a collector that asked for more is tried again


class PostResult(NamedTuple):
    """The outcome of a request.

    ``taken``: the collector has it, except ``rejected`` items. ``refused``: it never will.
    ``later``: it may, after ``wait`` seconds if given. ``problem`` is the reason.
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
    """The target of one signal; ``timeout`` in seconds bounds the wait for an answer."""

    url: str
    headers: Mapping[str, str]
    timeout: float
    compressed: bool

    @property
    def server(self) -> str:
        """The server's name, without a password in the address."""
        return parse_address(self.url).origin.name

    def pack_body(self, body: bytes) -> bytes:
        """Return a body in the form in which it is posted."""
        return gzip.compress(body, compresslevel=5, mtime=0) if self.compressed else body

    async def post_body(self, packed: bytes, now: float) -> PostResult:
        """Post what `pack_body` has returned; ``now`` in seconds since the epoch."""
        headers = {**self.headers, "content-type": "application/json"}
        if self.compressed:
            headers["content-encoding"] = "gzip"
        try:
            answer = await httpx_client.post(self.url, headers, packed, self.timeout)
        except TimeoutError:
            return PostResult("later", f"no answer in {self.timeout:g} seconds")
        except HttpError as error:
            return PostResult("later", str(error))
        if answer.status in SUCCESS:
            return _parse_answer(answer.body)
        text = _cut_excerpt(answer.body.decode("utf-8", "replace"))
        problem = f"status {answer.status}" + (f", {text}" if text else "")
        if answer.status in WRONG_DATA:
            return PostResult("refused", problem)
        wait = parse_retry_after(answer.headers, now)
        return PostResult(
            "later", problem, wait=None if wait is None else min(wait, MAX_WAIT_SECONDS)
        )


def _parse_answer(body: bytes) -> PostResult:
    """Parse the number of rejected items; an unknown format reports none."""
    try:
        partial = _Answer.model_validate(orjson.loads(body)).partial_success
    except (orjson.JSONDecodeError, ValidationError):
        return PostResult("taken")
    rejected = partial.rejected_spans + partial.rejected_data_points
    return PostResult("taken", _cut_excerpt(partial.error_message), rejected)


def _cut_excerpt(text: str) -> str:
    """Return the beginning of a collector's message on one printable line."""
    return make_printable(" ".join(text[:EXCERPT].split()))
