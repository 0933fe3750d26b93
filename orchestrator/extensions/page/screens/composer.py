"""The composer of a chat: text, files, the agent, and the fate of a running answer."""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import htpy as h

from orchestrator.control import protocol
from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side.page_protocol import MAX_FILE_BYTES, WEB_SEND
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import render_act_button, render_hidden_fields
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.screen_request import OWN, ScreenRequest
from orchestrator.journal.inspect.chat_history import TurnTalk
from thinker.protocol.peer import PeerClosedError, RpcError

AGENTS_TIMEOUT = 0.25  # seconds that a chat waits for the list of agents


async def list_writable_agents(request: ScreenRequest) -> Sequence[str]:
    """Return the agents that the session may write to; empty if not known immediately.

    A chat can be read while the daemon does not answer.
    """
    if request.viewer.agents is not None:
        return request.viewer.agents
    if request.daemon is None or not request.has_right(Right.LOOK):
        return ()
    with anyio.move_on_after(AGENTS_TIMEOUT), suppress(RpcError, PeerClosedError):
        report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
        return [agent.agent_id for agent in report.agents if not agent.parent]
    return ()


def render_composer(
    request: ScreenRequest, key: str, turns: Sequence[TurnTalk], agents: Sequence[str]
) -> h.Element:
    """Render the composer of a chat; ``agents`` are the choices."""
    name = key.removeprefix(OWN).rstrip("/")
    runs = any(talk.state in ("running", "waiting") for talk in turns)
    last = next((talk.agent_id for talk in reversed(turns) if talk.agent_id), "")
    return h.div(class_="composer")[
        h.form(
            method="post",
            action=f"/act/{WEB_SEND}",
            class_="act send",
            id="composer",
            enctype="multipart/form-data",
        )[
            render_hidden_fields(request, {"chat": name}),
            h.div(class_="row")[
                h.textarea(
                    name="text",
                    id="text",
                    maxlength="1000000",
                    aria_label="Message",
                    placeholder="message…",
                    rows="2",
                    autofocus=not turns,
                ),
                _render_file_picker(),
                _render_agent_choice(agents, last),
                _render_busy_choice() if runs else None,
                h.button(class_="do")["Send"],
            ],
        ],
        _render_command_button(request, name, last, "/stop", "Stop") if runs else None,
        _render_command_button(request, name, last, "/new", "New conversation") if turns else None,
    ]


def _render_file_picker() -> h.Element:
    return h.label[
        h.span[f"files, {figures.format_size(MAX_FILE_BYTES)} at most"],
        h.input(
            type="file",
            name="files",
            id="files",
            multiple=True,
            title=f"A message has room for {figures.format_size(MAX_FILE_BYTES)} of files.",
            data_most=MAX_FILE_BYTES,
        ),
    ]


def _render_busy_choice() -> h.Element:
    """Render the choice of what a message does to a running answer."""
    return h.label[
        h.span["while it answers"],
        h.select(name="whileBusy")[
            h.option(value="")["as agents.json says"],
            h.option(value="queue")["wait for the answer"],
            h.option(value="steer")["join it at its next step"],
            h.option(value="interrupt")["drop that answer"],
        ],
    ]


def _render_agent_choice(agents: Sequence[str], last: str | None) -> h.Node:
    """Render the choice of an agent; an existing chat has its own."""
    return h.label[
        h.span["agent"],
        h.select(name="agent")[
            None if last else h.option(value="")["by binding"],
            (
                h.option(value=name, selected=name == last)[show_hidden_characters(name)]
                for name in agents
            ),
        ]
        if agents
        else h.input(name="agent", value=last or "", placeholder="by binding", size="10"),
    ]


def _render_command_button(
    request: ScreenRequest, chat: str, agent: str | None, text: str, label: str
) -> h.Node:
    return render_act_button(
        request, WEB_SEND, {"chat": chat, "text": text, "agent": agent or ""}, label
    )
