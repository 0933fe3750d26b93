"""Where to write into a chat: text, files, the agent, and what becomes of a running answer."""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.control.page_protocol import MAX_FILE_BYTES, WEB_SEND
from orchestrator.control.protocol import StatusReport
from orchestrator.journal.inspect.chat_history import TurnTalk
from orchestrator.page.html import figures
from orchestrator.page.html.forms import act, hidden
from orchestrator.page.html.outside_text import visible
from orchestrator.page.visit import OWN, Visit
from thinker.protocol.peer import PeerClosedError, RpcError

PATIENCE = 0.25  # seconds that a chat waits for the list of agents


async def writable_agents(visit: Visit) -> Sequence[str]:
    """Return the agents to which the session may write; nothing where they are not known at once.

    A chat can be read while the daemon does not answer.
    """
    if visit.visitor.agents is not None:
        return visit.visitor.agents
    if visit.daemon is None or not visit.may(Right.LOOK):
        return ()
    with anyio.move_on_after(PATIENCE), suppress(RpcError, PeerClosedError):
        report = await visit.daemon.ask(protocol.STATUS, None, StatusReport)
        return [agent.agent_id for agent in report.agents if not agent.parent]
    return ()


def composer(visit: Visit, key: str, turns: Sequence[TurnTalk], agents: Sequence[str]) -> h.Element:
    """Draw where to write into a chat of the page; ``agents`` are those to choose from."""
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
            hidden(visit, {"chat": name}),
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
                _picker(),
                _chooser(agents, last),
                _while_busy() if runs else None,
                h.button(class_="first")["Send"],
            ],
        ],
        _order(visit, name, last, "/stop", "Stop") if runs else None,
        _order(visit, name, last, "/new", "New conversation") if turns else None,
    ]


def _picker() -> h.Element:
    return h.label[
        h.span[f"files, {figures.size(MAX_FILE_BYTES)} at most"],
        h.input(
            type="file",
            name="files",
            id="files",
            multiple=True,
            title=f"A message has room for {figures.size(MAX_FILE_BYTES)} of files.",
            data_most=MAX_FILE_BYTES,
        ),
    ]


def _while_busy() -> h.Element:
    """Draw the choice of what a message does to the answer that is being written."""
    return h.label[
        h.span["while it answers"],
        h.select(name="whileBusy")[
            h.option(value="")["as agents.json says"],
            h.option(value="queue")["wait for the answer"],
            h.option(value="steer")["join it at its next step"],
            h.option(value="interrupt")["drop that answer"],
        ],
    ]


def _chooser(agents: Sequence[str], last: str | None) -> h.Node:
    """Draw the choice of an agent; a chat that is begun names its own."""
    return h.label[
        h.span["agent"],
        h.select(name="agent")[
            None if last else h.option(value="")["by binding"],
            (h.option(value=name, selected=name == last)[visible(name)] for name in agents),
        ]
        if agents
        else h.input(name="agent", value=last or "", placeholder="by binding", size="10"),
    ]


def _order(visit: Visit, chat: str, agent: str | None, text: str, label: str) -> h.Node:
    return act(visit, WEB_SEND, {"chat": chat, "text": text, "agent": agent or ""}, label)
