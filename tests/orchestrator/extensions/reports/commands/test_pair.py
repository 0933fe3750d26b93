"""Chats that asked to be let in, as the operator decides about them."""

import json
from pathlib import Path

import pytest
from fakes.carrier import CarrierExtension
from fakes.control_server import ask, serving
from fakes.installed_extensions import install_extensions

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    Ack,
    AdmittedChat,
    PairedChat,
    PairingList,
    PairingReport,
)
from orchestrator.extensions.reports.extension import ReportsExtension
from orchestrator.extensions.reports.reports_part import PAIR_REFUSE


async def test_pairings_are_listed_approved_and_revoked(tmp_path: Path) -> None:
    """A stranger's name is shown but cannot drive the terminal."""
    asked = PairingReport(
        channel="telegram",
        chat_id="5",
        name="[red]Eve\x1b[2J",
        code="ABCD",
        state="pending",
        created_at=0.0,
    )
    answers = {
        protocol.PAIR_LIST: PairingList(pairings=(asked,)),
        protocol.PAIR_APPROVE: AdmittedChat(channel="telegram", chat_id="5", role="talk"),
        protocol.PAIR_ROLE: Ack(),
        protocol.PAIR_REVOKE: Ack(),
    }
    async with serving(tmp_path, answers) as server:
        listed = await ask(tmp_path, "pair", "list")
        as_json = await ask(tmp_path, "pair", "list", "--json")
        approved = await ask(tmp_path, "pair", "approve", "ABCD")
        changed = await ask(tmp_path, "pair", "role", "telegram:5", "--as", "approve")
        wrong = await ask(tmp_path, "pair", "role", "telegram:5", "--as", "king")
        revoked = await ask(tmp_path, "pair", "revoke", "telegram", "5")
    assert "[red]Eve\N{REPLACEMENT CHARACTER}[2J  pending  ABCD  1970-01-01 00:00" in listed.stdout
    assert json.loads(as_json.stdout)["pairings"][0]["chatId"] == "5"
    assert approved.stdout.splitlines() == [
        "telegram:5 is admitted",
        "Its role is talk: it may talk to its agent",
        "To change that: orchestrator pair role telegram:5 --as approve|operate",
    ]
    assert changed.stdout == "telegram:5: it may also approve the calls of its own chat\n"
    assert (wrong.exit_code, "'talk', 'approve', 'operate'" in wrong.output) == (2, True)
    assert revoked.stdout == "telegram:5 is no longer admitted\n"
    assert server.params(protocol.PAIR_APPROVE) == [{"code": "ABCD", "role": None}]
    (params,) = server.params(protocol.PAIR_REVOKE)
    assert PairedChat.model_validate(params) == PairedChat(channel="telegram", chat_id="5")


async def test_a_role_that_agents_json_overrules_is_told(tmp_path: Path) -> None:
    """It is stored, and not in force."""
    (tmp_path / "agents.json").write_text(
        '{"agents": [{"agentId": "work", "llmProvider": "demo"}],'
        ' "channels": {"telegram": {"roles": {"5": "talk"}}}}'
    )
    async with serving(tmp_path, {protocol.PAIR_ROLE: Ack()}):
        told = await ask(tmp_path, "pair", "role", "telegram:5", "--as", "operate")
        same = await ask(tmp_path, "pair", "role", "telegram:5", "--as", "talk")
    assert 'agents.json gives it the role "talk", which counts first' in told.output
    assert same.stdout == "telegram:5: it may talk to its agent\n"


async def test_empty_list_of_pairings_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than nothing."""
    install_extensions(monkeypatch, own=(CarrierExtension(), ReportsExtension()))
    async with serving(tmp_path, {protocol.PAIR_LIST: PairingList(pairings=())}):
        assert (await ask(tmp_path, "pair", "list")).stdout.startswith("no chats have asked")
        (tmp_path / "agents.json").write_text(
            '{"agents": [{"agentId": "work", "llmProvider": "demo"}],'
            ' "channels": {"carrier": {"access": "allowlist"}}}'
        )
        listed = (await ask(tmp_path, "pair", "list")).stdout
    assert "access is 'allowlist'" in listed
    assert "orchestrator logs" in listed


async def test_chat_is_refused_by_its_code(tmp_path: Path) -> None:
    """It is said that the chat does not hear of it."""
    async with serving(tmp_path, {PAIR_REFUSE: Ack()}) as server:
        told = await ask(tmp_path, "pair", "refuse", "ABCD")
        assert server.params(PAIR_REFUSE) == [{"code": "ABCD", "role": None}]
    assert told.stdout == "refused; the chat is not told\n"
