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
from orchestrator.extensions.page.html.forms import render_hidden_fields
from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.screen_request import OWN, ScreenRequest
from orchestrator.extensions.page.screens.known_agents import (
    NOT_KNOWN,
    KnownAgents,
    read_known_agents,
    render_suggestions,
)
from orchestrator.journal.inspect.chat_history import TurnTalk
from thinker.protocol.peer import PeerClosedError, RpcError

AGENTS_TIMEOUT = 0.25  # seconds that a chat waits for the list of agents


async def list_writable_agents(request: ScreenRequest) -> KnownAgents:
    """Return the agents that the session may write to; `NOT_KNOWN` if not known immediately.

    A chat can be read while the daemon does not answer.
    """
    if request.viewer.agents is not None:
        return KnownAgents(tuple(request.viewer.agents))
    if request.daemon is None or not request.has_right(Right.LOOK):
        return NOT_KNOWN
    with anyio.move_on_after(AGENTS_TIMEOUT), suppress(RpcError, PeerClosedError):
        report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
        return read_known_agents(report)
    return NOT_KNOWN


def render_composer(
    request: ScreenRequest, key: str, turns: Sequence[TurnTalk], agents: KnownAgents
) -> h.Element:
    """Render the composer of a chat; ``agents`` are the choices."""
    name = key.removeprefix(OWN).rstrip("/")
    runs = any(talk.state in ("running", "waiting") for talk in turns)
    last = find_last_agent(turns)
    stop: h.Node = [render_icon("stop"), "Stop"]
    return h.div(class_="composer")[
        h.ul(id="chosen", class_="chosen", aria_label="Chosen files", hidden=True, data_kept=True),
        h.div(class_="box")[
            h.form(
                method="post",
                action=f"/act/{WEB_SEND}",
                class_="act send",
                id="composer",
                enctype="multipart/form-data",
            )[
                render_hidden_fields(request, {"chat": name}),
                h.textarea(
                    name="text",
                    id="text",
                    maxlength="1000000",
                    aria_label="Message",
                    placeholder="Write a message",
                    rows="1",
                    autofocus=not turns,
                ),
                h.div(class_="with")[
                    _render_file_picker(),
                    _render_agent_choice(agents, last),
                    _render_busy_choice() if runs else None,
                ],
                h.button(class_="do")[render_icon("send"), "Send"],
            ],
            render_command_button(request, name, last, "/stop", stop, "Stop the answer")
            if runs
            else None,
        ],
    ]


def find_last_agent(turns: Sequence[TurnTalk]) -> str:
    """Return the agent that answered last."""
    return next((talk.agent_id for talk in reversed(turns) if talk.agent_id), "")


def render_command_button(
    request: ScreenRequest, chat: str, agent: str, text: str, label: h.Node, about: str
) -> h.Node:
    """Render a button that sends a chat command; ``about`` explains it to a pointer."""
    if request.daemon is None:
        return None
    return h.form(method="post", action=f"/act/{WEB_SEND}", class_="act command")[
        render_hidden_fields(request, {"chat": chat, "text": text, "agent": agent}),
        h.button(title=about, aria_label=about)[label],
    ]


def _render_file_picker() -> h.Element:
    most = figures.format_size(MAX_FILE_BYTES)
    return h.label(class_="button plain attach", title=f"Attach files, {most} at most")[
        render_icon("attach"),
        h.span(class_="word")["Attach"],
        h.input(
            type="file",
            name="files",
            id="files",
            multiple=True,
            aria_label="Attach files",
            title=f"A message has room for {most} of files.",
            data_most=MAX_FILE_BYTES,
        ),
    ]


def _render_busy_choice() -> h.Element:
    """Render the choice of what a message does to a running answer."""
    return h.select(
        name="whileBusy",
        class_="plain",
        aria_label="What this message does to the answer that is being written",
        title="As set up: what the agent's setting whileBusy says",
    )[
        h.option(value="")["while it answers: as set up"],
        h.option(value="queue")["wait for the answer"],
        h.option(value="steer")["join the answer at its next step"],
        h.option(value="interrupt")["stop the answer, read this instead"],
    ]


def _render_agent_choice(agents: KnownAgents, last: str) -> h.Node:
    """Render the choice of an agent; an existing chat has its own."""
    about = "Who answers. As set up: the agent that a binding names for this chat"
    if not agents.whole:
        return [
            h.input(
                name="agent",
                class_="plain",
                value=last,
                list="agent-names",
                placeholder="agent: as set up",
                aria_label="Agent",
                title=about,
                size="14",
                autocomplete="off",
            ),
            render_suggestions(agents, "agent-names"),
        ]
    return h.select(name="agent", class_="plain", aria_label="Agent", title=about)[
        None if last in agents.names else h.option(value="")["agent: as set up"],
        (
            h.option(value=name, selected=name == last)[show_hidden_characters(name)]
            for name in agents.names
        ),
    ]
