"""The one door to the HTTP client."""

import httpx
import pytest

from thinker.protocol.net import NOT_SENT, open_client


async def test_client_has_a_bound_for_every_wait_and_follows_no_redirect() -> None:
    """A redirect could carry a key to another host."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(302, headers={"location": f"{request.url}/elsewhere"})

    transport = httpx.MockTransport(answer)
    async with open_client(
        "http://host/api/", connect=1.0, read=2.0, transport=transport
    ) as client:
        assert client.timeout == httpx.Timeout(connect=1.0, read=2.0, write=2.0, pool=1.0)
        response = await client.get("models")
        assert (response.status_code, str(response.url)) == (302, "http://host/api/models")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "ftp://127.0.0.1/", "http://[bad/"])
async def test_request_that_was_never_sent_is_known_as_such(url: str) -> None:
    """Nobody listens, no such protocol, no address: repeating is safe."""
    async with open_client(connect=5.0) as client:
        with pytest.raises(NOT_SENT):
            await client.post(url)
