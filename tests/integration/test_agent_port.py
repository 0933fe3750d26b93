"""The older HTTP interface of an agent, through the whole daemon."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fakes.calling_model import CallingModel
from fakes.daemon import RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.time_limit import LIMIT, time_limit

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]


def config(model: HeldModel, port: int | None) -> JsonObject:
    """One agent that is reached on a port."""
    return {"agents": [agent("work", model, **({} if port is None else {"port": port}))]}


def message(number: int, text: str = "hello") -> dict[str, Any]:
    """The body of a message, as clients of the older system send it."""
    return {
        "id": str(number),
        "chatId": "7",
        "senderId": "9",
        "text": text,
        "date": "2026-02-12T14:30:00Z",
        "channel": "telegram",
        "agentId": "main",
    }


async def address(daemon: RunningDaemon) -> httpx.URL:
    """Where the agent listens."""
    line = await daemon.logged("agent_port", agent_id="work")
    return httpx.URL(f"http://127.0.0.1:{line['port']}")


async def reachable(client: httpx.AsyncClient) -> bool:
    """Return whether the port is open."""
    try:
        await client.get("/health")
    except httpx.TransportError as error:  # cut off in the middle counts as reached
        return not isinstance(error, httpx.ConnectError)
    return True


async def test_client_is_answered_once_however_often_it_asks(tmp_path: Path) -> None:
    """With the token alone; what is sent again after a kill gets the first answer."""
    async with HeldModel() as model, httpx.AsyncClient(timeout=LIMIT) as client:
        async with running_daemon(tmp_path, config(model, 0)) as daemon:
            client.base_url = await address(daemon)
            token = (tmp_path / "http-token").read_text("utf-8")
            assert (await client.get("/health")).status_code == 401
            assert (tmp_path / "http-token").stat().st_mode & 0o777 == 0o600
            client.headers["authorization"] = f"Bearer {token}"
            assert (await client.get("/health")).json() == {"status": "ok", "agentId": "work"}
            first = await client.post("/process-message", json=message(1))
            assert first.status_code == 200
            answer = first.json()
            assert (answer["success"], answer["totalSteps"]) == (True, 1)
            assert "hello" in answer["response"]
            bad = await client.post("/process-message", json={"id": 5})
            assert (bad.status_code, bad.json()["success"]) == (400, False)
            foreign = await client.get("/health", headers={"host": "evil.example"})
            assert foreign.status_code == 403
            assert (await client.get("/other")).status_code == 404
            # A program with the token passes on what people write: it is not the operator.
            refused = await client.post("/process-message", json=message(2, "/pause work"))
            assert "operator" in refused.text
            await daemon.kill()
        async with running_daemon(tmp_path, config(model, 0)) as daemon:
            client.base_url = await address(daemon)
            again = await client.post("/process-message", json=message(1))
            assert again.json() == answer
            assert len(model.requests_about("hello")) == 1
            daemon.write(config(model, None))
            await daemon.logged("config_applied")
            with time_limit():
                while await reachable(client):
                    await daemon.status()


async def test_chat_of_a_client_gets_neither_the_memory_nor_the_answers_of_another(
    tmp_path: Path,
) -> None:
    """A number in one chat may look like another chat and its number."""
    async with (
        CallingModel() as model,
        httpx.AsyncClient(timeout=LIMIT) as client,
        running_daemon(tmp_path, config(model, 0)) as daemon,
    ):
        client.base_url = await address(daemon)
        token = (tmp_path / "http-token").read_text("utf-8")
        client.headers["authorization"] = f"Bearer {token}"

        async def says(chat: str, number: str, text: str) -> str:
            body = {**message(1, text), "id": number, "chatId": chat}
            return str((await client.post("/process-message", json=body)).json()["response"])

        await says("7", "1/2", '!store_fact {"fact": "The zebra is mine"}')
        assert "zebra" in await says("7", "3", "!list_facts")
        assert "zebra" not in await says("8", "4", "!list_facts")
        assert "zebra" not in await says("7/1", "2", "!list_facts")
