"""Pictures to which an answer only links, fetched by the broker."""

from base64 import b64decode
from typing import Any

import orjson
import pytest
from fakes.network import AnsweringNetwork, Asked, Chunks, answered

from orchestrator.broker.linked_pictures import embed_linked_pictures
from thinker.http.exchange import BrokenAnswerError, HttpAnswer, WholeAnswer

URL = "http://127.0.0.1:8080/v1/images/generations"
PNG = b"\x89PNG"


async def fetched(data: Any, picture: HttpAnswer | None = None) -> tuple[Any, list[str]]:
    """What a worker gets for an answer, and the addresses that were asked."""

    def answer(asked: Asked) -> HttpAnswer:
        del asked
        return picture or WholeAnswer(200, PNG)

    network = AnsweringNetwork(answer)
    found = await embed_linked_pictures(network, URL, answered(data))
    body = orjson.loads(await found.read(1 << 20))
    return body, [f"{asked.method} {asked.url}" for asked in network.requests]


@pytest.mark.parametrize("link", ["http://127.0.0.1:8080/a.png", "https://cdn.example/a.png?b=1"])
async def test_link_becomes_the_picture(link: str) -> None:
    """Of the server itself, and of one that proves its name; the rest of the answer stays."""
    body, asked = await fetched({"created": 1, "data": [{"url": link, "revised_prompt": "cat"}]})
    assert asked == [f"GET {link}"]
    (picture,) = body["data"]
    assert b64decode(picture.pop("b64_json")) == PNG
    assert (body["created"], picture) == (1, {"revised_prompt": "cat"})


@pytest.mark.parametrize(
    "link",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:9/a.png",
        "http://localhost:8080/a.png",
        "file:///etc/passwd",
        "//",
    ],
)
async def test_plain_address_elsewhere_is_not_asked(link: str) -> None:
    """A provider cannot make the broker ask this machine's services; the worker gets no link."""
    body, asked = await fetched({"data": [{"url": link}]})
    assert (body, asked) == ({"data": [{}]}, [])


@pytest.mark.parametrize(
    "picture", [WholeAnswer(404, b"gone"), Chunks(b"half", then="break")], ids=["gone", "broken"]
)
async def test_picture_that_does_not_come_is_left_out(picture: HttpAnswer) -> None:
    """The answer is still one, and is counted."""
    body, asked = await fetched({"data": [{"url": "https://cdn.example/a.png"}]}, picture)
    assert (body, len(asked)) == ({"data": [{}]}, 1)


@pytest.mark.parametrize("data", [[], {"data": None}, {"data": [1, {"b64_json": "eA=="}]}, "x"])
async def test_answer_without_links_stays_as_it_is(data: Any) -> None:
    """Whatever it is."""
    assert await fetched(data) == (data, [])


async def test_answer_that_breaks_off_is_none() -> None:
    """The worker learns that its call has failed."""
    network = AnsweringNetwork(lambda _: WholeAnswer(200, PNG))
    with pytest.raises(BrokenAnswerError):
        await embed_linked_pictures(network, URL, Chunks(b"{", then="break"))
