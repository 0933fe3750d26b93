"""What keeps the daemon from being ready."""

from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import stand_in
from fakes.channel import FakeChannel
from fakes.journal import store_in

from orchestrator.channel_api import ChannelStatus
from orchestrator.control import status
from orchestrator.control.agent_report import AgentReport, name_model
from orchestrator.control.protocol import ToolServerReport
from orchestrator.journal.db import liveness
from orchestrator.outbound.flood_control import BOT, Hold


async def test_health_names_everything_that_keeps_messages_from_being_answered(
    tmp_path: Path,
) -> None:
    """A stopping daemon, a deaf channel, a journal that takes no write; the last one is tried."""
    store, chats = store_in(tmp_path), FakeChannel()
    ready = await status.check_health(store, [chats], 1100.0, admitting=True)
    assert (ready.ready, ready.reasons) == (True, ())
    chats.status.detail = "token refused"
    broken = await status.check_health(store, [chats], 1120.0, admitting=False)
    store.close()
    assert not broken.ready
    assert broken.reasons == (
        "the daemon is stopping",
        "channel telegram has not heard from its platform for 120 seconds (token refused)",
    )
    closed = await status.check_health(store, [], 1100.0, admitting=True)
    assert closed.reasons == ("the journal cannot be written: the journal is closed",)


async def test_fresh_proof_of_writing_is_not_repeated(tmp_path: Path) -> None:
    """To look at the state again and again writes nothing; an old proof is renewed."""
    store = store_in(tmp_path)

    async def proven(now: float) -> int:
        assert (await status.check_health(store, [], now, admitting=True, proof_age=60.0)).ready
        return await store.read(liveness.load_write_proof_time)

    assert [await proven(now) for now in (100.0, 160.0, 160.1, 90.0)] == [
        100_000,
        100_000,
        160_100,
        90_000,
    ]
    await status.check_health(store, [], 95.0, admitting=True)
    assert await store.read(liveness.load_write_proof_time) == 95_000
    store.close()


@pytest.mark.parametrize(
    ("chat", "seconds", "ready"), [("7", 900, True), (BOT, 60, True), (BOT, 61, False)]
)
async def test_what_a_platform_does_not_take_is_told_until_when(
    tmp_path: Path, chat: str, seconds: float, *, ready: bool
) -> None:
    """One chat, or a bot for a moment, does not keep the others from an answer."""
    store = store_in(tmp_path)
    hold = Hold("telegram", chat, seconds)
    report = await status.check_health(store, [], 1_800_000_000.0, admitting=True, holds=[hold])
    store.close()
    assert report.ready is ready
    (line,) = report.notes if ready else report.reasons
    where = (
        "telegram:7 until 2027-01-15 08:15:00 UTC" if chat else "any chat until 2027-01-15 08:01:0"
    )
    assert f"channel telegram sends nothing to {where}" in line


async def test_channel_without_a_platform_is_not_said_to_have_heard_nothing(
    tmp_path: Path,
) -> None:
    """Its own reason is given."""
    store, chats = store_in(tmp_path), FakeChannel()
    chats.status = ChannelStatus("http", "degraded", "port 1 is taken")
    report = await status.check_health(store, [chats], 0.0, admitting=True)
    store.close()
    assert report.reasons == ("channel http: port 1 is taken",)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ({}, False),
        ({"answer": ["all"]}, True),
        ({"patterns": ["tea"]}, True),
        ({"chats": {"-1": {"answer": ["mention"]}, "-2": {"patterns": ["tea"]}}}, True),
    ],
)
def test_rules_that_need_what_a_platform_withholds_are_told(
    groups: dict[str, Any], *, told: bool
) -> None:
    """With what to do, which the channel knows; a channel that hears all has no such hint."""
    with stand_in():
        file = parsed(WORK, channels={"telegram": {"groups": groups}}).file
    deaf = ChannelStatus("telegram", "ok", withheld="it hears little; turn up the volume")
    hints = [*status.list_unheard_groups(file, [deaf, ChannelStatus("web", "ok", withheld="no")])]
    assert [hint.endswith("turn up the volume") for hint in hints] == [True] * told
    assert [*status.list_unheard_groups(file, [ChannelStatus("telegram", "ok")])] == []


def test_agents_that_take_no_messages_and_failed_servers_are_named() -> None:
    """With their reasons; those that work are not."""
    agent = AgentReport(
        agent_id="work", state="stopped", pid=None, restarts=0, provider="demo", model="demo"
    )
    paused = agent.model_copy(update={"paused": "by the operator"})
    fatal = agent.model_copy(update={"state": "fatal", "reason": "no key"})
    servers = [
        ToolServerReport(name="a", state="failed", error="Not Found"),
        ToolServerReport(name="b", state="connected", notes=("the tool 'x' is left out: no",)),
    ]
    assert list(status.list_troubles([agent, paused, fatal], servers)) == [
        "agent 'work' is paused: by the operator",
        "agent 'work' does not run (fatal): no key",
        "MCP server 'a' has failed: Not Found",
        "MCP server 'b': the tool 'x' is left out: no",
    ]


@pytest.mark.parametrize(("state", "ready"), [("ok", True), ("starting", False)])
async def test_channel_that_never_polled_is_judged_by_its_state(
    tmp_path: Path, state: str, *, ready: bool
) -> None:
    """The console has nothing to poll; a Telegram that is still starting is not ready."""
    store, chats = store_in(tmp_path), FakeChannel()
    chats.status = ChannelStatus("telegram", state)
    assert (await status.check_health(store, [chats], 0.0, admitting=True)).ready is ready
    store.close()


def test_model_with_the_name_of_its_provider_is_named_once() -> None:
    """The demo model is no "demo demo"."""
    assert name_model("demo", "demo") == "demo"
    assert name_model("groq", "qwen3") == "groq qwen3"
    assert name_model("", "") == ""
