"""Which requests are served, when, and how all others are refused."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import httpx
import openai
import pytest
from fakes.api_client import address, endpoints
from fakes.daemon import running_daemon
from fakes.held_model import HeldModel, agent
from fakes.inspection import holds, may_look_inside
from fakes.time_limit import LIMIT

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, AgentName
from orchestrator.extensions.http_api.commands import api as command
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.testing.loopback import find_free_port
from orchestrator.web.app import MAX_BODY
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]


async def test_only_programs_with_the_token_are_heard(tmp_path: Path) -> None:
    """Neither a wrong token nor a web page; nothing else of the request is looked at."""
    async with (
        HeldModel() as model,
        endpoints(tmp_path, model) as api,
        httpx.AsyncClient(base_url=str(api.client.base_url)) as anybody,
    ):
        with pytest.raises(openai.AuthenticationError) as refused:
            await api.client.with_options(api_key="orc_wrong").models.list()
        assert refused.value.code == "invalid_api_key"
        assert (await anybody.post("chat/completions", content=b"{")).status_code == 401
        token = {"authorization": f"Bearer {api.client.api_key}"}
        for head in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            answer = await anybody.get("models", headers={**token, **head})
            assert answer.status_code == HTTPStatus.FORBIDDEN
        local = {"origin": "http://localhost:3000"}
        assert (await anybody.get("models", headers={**token, **local})).status_code == 200
        top = str(api.client.base_url).removesuffix("/v1/")
        assert (await anybody.get(f"{top}/healthz")).json() == {"status": "ok"}
        assert (await anybody.get(f"{top}/readyz")).json() == {"ready": True, "reasons": []}
        if may_look_inside():
            assert not holds(api.daemon.process.pid, "evil.example/nothing")
        assert model.requests == []
        assert str(api.client.api_key) not in str(api.daemon.log)
        assert b"orc_" not in (tmp_path / "api-token").read_bytes()


async def test_ready_daemon_takes_connections(tmp_path: Path) -> None:
    """They wait until the web server is loaded, which is after everything else."""
    TokenFile(tmp_path / "api-token").make_token()
    port = find_free_port()
    async with HeldModel() as model:
        config: JsonObject = {"agents": [agent("work", model)]}
        env = {"ORCHESTRATOR_API_PORT": str(port)}
        async with running_daemon(tmp_path, config, env=env), httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{port}/readyz", timeout=LIMIT)
    assert answer.json() == {"ready": True, "reasons": []}


async def test_what_cannot_be_answered_is_told_in_openais_shape(tmp_path: Path) -> None:
    """Unknown models and paths, bodies that are no JSON or too large, settings that we lack."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        ask: Any = api.client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as unknown:
            await ask(model="nobody", messages=api.say("x"))
        assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"messages": []}, "messages"),
            ({"messages": [{"role": "owner", "content": "x"}]}, "messages[0].role"),
            ({"n": 2}, "n"),
            ({"temperature": 9}, "temperature"),
            ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools"),
        ]
        for fields, param in wrong:
            with pytest.raises(openai.BadRequestError) as refused:
                await ask(**{"model": "work", "messages": api.say("x"), **fields})
            assert refused.value.param == param
        with pytest.raises(openai.APIStatusError) as large:
            await ask(model="work", messages=api.say("x" * MAX_BODY))
        assert large.value.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        async with httpx.AsyncClient(base_url=str(api.client.base_url)) as raw:
            raw.headers["authorization"] = f"Bearer {api.client.api_key}"
            deep = b'{"model":"work","input":"x","metadata":{"a":' + b"[" * 70 + b"]" * 70 + b"}}"
            no_json = (b"", b"{", b"\xff", b"[" * 100_000, b'{"a":"\\ud800"}')
            for body in (*no_json, b"[]", b"{}", deep):
                for path in ("chat/completions", "responses", "embeddings"):
                    assert (await raw.post(path, content=body)).status_code == 400
            assert (await raw.get("responses")).status_code == HTTPStatus.METHOD_NOT_ALLOWED
        with pytest.raises(openai.NotFoundError):
            await api.client.moderations.create(input="x")
        assert model.requests == []


async def test_edited_agents_are_the_models_at_once(tmp_path: Path) -> None:
    """Added, disabled and paused ones; a paused agent takes no request."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        config: Any = {"agents": [agent("work", model, enabled=False), agent("home", model)]}
        api.daemon.write(config)
        await api.daemon.logged("config_applied")
        assert [item.id async for item in api.client.models.list()] == ["home"]
        with pytest.raises(openai.NotFoundError):
            await api.client.responses.create(model="work", input="x")
        await api.daemon.ask(protocol.AGENT_PAUSE, AgentName(agent_id="home"), Ack)
        with pytest.raises(openai.RateLimitError) as paused:
            await api.client.responses.create(model="home", input="x")
        assert paused.value.code == "agent_paused"


async def test_revoked_token_closes_the_endpoints_and_a_new_one_opens_them(tmp_path: Path) -> None:
    """Waiting clients get an error; the command line does it while the daemon runs."""
    async with HeldModel() as model, endpoints(tmp_path, model) as api:
        gate = model.hold("slow")
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(openai.InternalServerError) as ended:
                    await api.client.responses.create(model="work", input="slow")
                assert ended.value.code == "stopping"

            tasks.start_soon(ask)
            await model.asked("slow")
            await anyio.to_thread.run_sync(lambda: command.token(revoke=True, home=tmp_path))
            await api.daemon.logged("api_closed")
        with pytest.raises(openai.APIConnectionError):
            await api.client.models.list()
        gate.set()
        await api.daemon.until(lambda report: report.inbox["done"] == 1)
        await anyio.to_thread.run_sync(lambda: command.token(home=tmp_path))
        there = await address(api.daemon, 2)
        with pytest.raises(openai.AuthenticationError):
            await api.client.with_options(base_url=there).models.list()


async def test_clients_of_other_hosts_and_sites_are_let_in_by_name(tmp_path: Path) -> None:
    """By an address of the machine; a script learns what it may ask before it asks."""
    token = TokenFile(tmp_path / "api-token").make_token()
    site = "https://chat.example"
    async with HeldModel() as model:
        doors: JsonObject = {"host": "127.0.0.2", "names": ["127.0.0.2"], "origins": [site]}
        config: JsonObject = {"agents": [agent("work", model)], "channels": {"api": doors}}
        env = {"ORCHESTRATOR_API_PORT": "0"}
        async with (
            running_daemon(tmp_path, config, env=env) as daemon,
            httpx.AsyncClient(base_url=await address(daemon)) as script,
        ):
            asks = {
                "origin": site,
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization, x-stainless-os",
            }
            allowed = await script.options("/chat/completions", headers=asks)
            assert allowed.status_code == HTTPStatus.OK
            assert allowed.headers["access-control-allow-origin"] == site
            assert "x-stainless-os" in allowed.headers["access-control-allow-headers"]
            right = {"authorization": f"Bearer {token}", "origin": site}
            found = await script.get("/models", headers=right)
            assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, site)
            wrong = await script.get("/models", headers={"origin": site})
            assert (wrong.status_code, wrong.headers["access-control-allow-origin"]) == (401, site)
            other = {**asks, "origin": "https://evil.example"}
            refused = await script.options("/chat/completions", headers=other)
            assert "access-control-allow-origin" not in refused.headers
