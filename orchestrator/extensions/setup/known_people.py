"""Show who may write to the agents and who asks to, and let a chat in to one agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import split_account
from orchestrator.agentsfile.chat_roles import find_role
from orchestrator.agentsfile.text_edits import replace_value
from orchestrator.control.protocol import AdmittedChat
from orchestrator.errors import UnknownAgentError, join_names
from orchestrator.extension import DaemonView
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.setup_requests import ChosenAgent, KnownPerson, PeopleList
from orchestrator.journal.access import pairing
from orchestrator.journal.access.pairing import IS_REFUSED, Pairing
from orchestrator.journal.db.database import Database
from orchestrator.routing import resolve_agent
from thinker.protocol.messages import JsonObject

MAX_FIRST = 500  # characters of a held message that are shown
MAX_PEOPLE = 1000
STATES: Mapping[str, str] = {"pending": "pending", "approved": "paired"}


class _Place(NamedTuple):
    """A chat as a message comes from it."""

    channel: str
    chat_id: str
    thread_id: str | None = None
    target: str | None = None


class _Asked(NamedTuple):
    """A chat that ever asked, and whether it was refused and may ask again later."""

    pairing: Pairing
    is_refused: bool
    first: str | None


@dataclass(frozen=True)
class KnownPeople:
    """The people of a daemon's chat systems."""

    daemon: DaemonView
    text: AgentsText

    async def list_people(self, params: JsonValue) -> PeopleList:
        """Return everyone that agents.json names, is paired, or asks to be."""
        del params
        file = self.daemon.get_agents_file()
        asked = await self.daemon.store.read(_load_asked)
        people = [_describe_asked(file, one) for one in reversed(asked)]
        known = {(one.channel, one.chat_id) for one in people}
        people += [one for one in _list_bound(file) if (one.channel, one.chat_id) not in known]
        people.sort(key=lambda one: one.state != "pending")
        return PeopleList(people=tuple(people[:MAX_PEOPLE]))

    async def approve_chat(self, by: str, params: JsonValue) -> AdmittedChat:
        """Let the chat with this code in; with an agent's id, that agent answers it.

        Raises:
            RpcError: no chat has the code, or pairings do not count.
            OrchestratorError: there is no such agent, or agents.json cannot be saved.
        """
        asked = ChosenAgent.model_validate(params)
        control = self.daemon.control
        if not asked.agent_id:
            return await control.approve_chat(asked.code, asked.role)
        agents = self.daemon.get_agents_file().list_enabled_ids()
        if asked.agent_id not in agents:
            names = join_names(agents)
            raise UnknownAgentError(f"no agent is called {asked.agent_id!r}; choose one of {names}")
        found = await control.find_waiting_chat(asked.code)
        role = asked.role or "talk"  # the binding has the role in writing
        # Before the approval, so that this agent answers what the chat has written.
        chosen = AdmittedChat(channel=found.channel, chat_id=found.chat_id, role=role)
        await self._save_binding(chosen, asked.agent_id, by)
        return await control.approve_chat(asked.code, role)

    async def _save_binding(self, chat: AdmittedChat, agent_id: str, by: str) -> None:
        before, value = await self.text.read_value()
        system, account = split_account(chat.channel)
        own: JsonObject = {"channel": system, **({"account": account} if account else {})}
        own |= {"chatId": chat.chat_id}
        items = value.get("bindings") if isinstance(value, dict) else None
        known = items if isinstance(items, list) else []
        place = next(
            (number for number, item in enumerate(known) if _is_binding_of(item, own)), len(known)
        )
        binding = {**own, "agentId": agent_id, "role": chat.role}
        text = replace_value(before.text, ("bindings", place), binding)
        why = f"let {chat.channel}:{chat.chat_id} in, for {agent_id}"
        await self.text.save_text(text, before.base, why, by)


def _is_binding_of(item: JsonValue, own: JsonObject) -> bool:
    """Return whether a binding is of the same whole chat."""
    if not isinstance(item, dict) or item.get("threadId") is not None:
        return False
    names = ("channel", "account", "chatId")
    return all(str(item.get(name) or "") == str(own.get(name) or "") for name in names)


def _load_asked(db: Database) -> list[_Asked]:
    """Return all chats that ever asked, oldest first, with the first of their held messages."""
    held: dict[tuple[str, str], str] = {}
    for channel, chat_id, text in db.execute(
        "SELECT channel, chat_id, text FROM held ORDER BY inbox_id DESC"
    ):
        held[str(channel), str(chat_id)] = str(text)
    refused = {(one.channel, one.chat_id) for one in pairing.PAIRINGS.select(db, IS_REFUSED)}
    return [
        _Asked(one, (one.channel, one.chat_id) in refused, held.get((one.channel, one.chat_id)))
        for one in pairing.list_pairings(db)
    ]


def _describe_asked(file: AgentsFile, asked: _Asked) -> KnownPerson:
    one = asked.pairing
    gone = "refused" if asked.is_refused else "revoked"
    admitted = one.state in STATES
    return KnownPerson.model_validate(
        {
            "channel": one.channel,
            "chat_id": one.chat_id,
            "name": one.name,
            "state": STATES.get(one.state, gone),
            "role": (one.role or "operate") if one.state == "approved" else None,
            "code": one.code,
            "agent_id": _find_agent(file, one.channel, one.chat_id) if admitted else None,
            "first": None if asked.first is None else asked.first[:MAX_FIRST],
            "at": one.created_at / 1000,
        }
    )


def _list_bound(file: AgentsFile) -> Iterator[KnownPerson]:
    """Yield the chats and people that agents.json names, each once."""
    sections = file.channels.list_chat_channels()
    named = [
        (one.channel, one.chat_id)
        for one in file.bindings
        if one.chat_id != "*" and one.channel in sections
    ]
    named += [(name, chat) for name, section in sections.items() for chat in section.allowlist]
    for channel, chat_id in dict.fromkeys(named):
        yield KnownPerson(
            channel=channel,
            chat_id=chat_id,
            state="bound",
            role=find_role(file, channel, {chat_id}, {}),
            agent_id=_find_agent(file, channel, chat_id),
        )


def _find_agent(file: AgentsFile, channel: str, chat_id: str) -> str | None:
    agents = file.list_enabled_ids()
    return resolve_agent(file.bindings, _Place(channel, chat_id), agents, file.fallback_agent_id)
