"""What a form offers for its fields: the providers, models, tools, agents and chats known now."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

import htpy as h
from pydantic import BaseModel, JsonValue

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.daemon_side.page_protocol import TOOL_RULES, ToolRuleTable
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.setup_answers import (
    PEOPLE_LIST,
    SETUP_OFFERS,
    ListedPeople,
    ModelOffers,
)
from thinker.protocol.peer import RpcError

MAX_OFFERED = 200  # values of a field
MAX_LINKS = 50  # agents with which a new one may begin
COPIED = ("llmProvider", "model", "baseUrl")  # what a new agent takes over from another one
TOOL_LISTS = ("allowedTools", "deniedTools", "approvals")
M = TypeVar("M", bound=BaseModel)
Offered: TypeAlias = Sequence[tuple[str, str]]  # values with words for them
FieldOffers: TypeAlias = Mapping[str, Offered]  # by the name of the control


async def load_offers(request: ScreenRequest, title: str, file: JsonValue) -> FieldOffers:
    """Return what is offered for the fields of a part; ``title`` is that of its schema."""
    if title == "AgentDefinition":
        models = await _ask(request, SETUP_OFFERS, ModelOffers) or ModelOffers()
        table = await _ask(request, TOOL_RULES, ToolRuleTable)
        tools = [(tool.name, tool.name) for tool in table.tools] if table else []
        return {
            "field.llmProvider": list_providers(models),
            "field.model": list(_iter_models(models))[:MAX_OFFERED],
            **{f"field.{name}": sorted(tools) for name in TOOL_LISTS},
        }
    if title == "Binding":
        people = await _ask(request, PEOPLE_LIST, ListedPeople)
        chats = [
            (one.chat_id, f"{one.name}, {one.channel}" if one.name else one.channel)
            for one in (people.people if people else ())
        ]
        every = ("*", "every chat of the channel")
        agents = [(name, name) for name in _list_agent_ids(file)[:MAX_OFFERED]]
        return {"field.chatId": [every, *chats[:MAX_OFFERED]], "field.agentId": agents}
    return {}


def list_providers(offers: ModelOffers) -> Offered:
    """Return the providers that work at once: those whose key is set, and local servers."""
    found = {
        one.provider: f"{one.title}: its key is set" for one in offers.providers if one.key_set
    }
    found |= {one.provider: f"{one.name or one.provider}: runs here" for one in offers.local}
    return list(found.items())


def render_copies(file: JsonValue) -> h.Node:
    """Render links to the form for a new agent that begins with the model of another one."""
    agents = agents_schema.find_value(file, ("agents",))
    links = [
        (str(one["agentId"]), {f"field.{key}": str(one[key]) for key in COPIED if one.get(key)})
        for one in (agents if isinstance(agents, list) else ())
        if isinstance(one, dict) and one.get("agentId")
    ]
    if not links:
        return None
    return h.div(class_="row")[
        h.span(class_="soft")["Begin with the provider, model and address of:"],
        h.ul(class_="chips")[
            (
                h.li[
                    h.a(
                        href=build_link("settings", "form", at="agents", new=1, **fields),
                        class_="chip",
                    )[show_hidden_characters(name)]
                ]
                for name, fields in links[:MAX_LINKS]
            )
        ],
        h.span(class_="soft")[f"and {len(links) - MAX_LINKS:,} more"]
        if len(links) > MAX_LINKS
        else None,
    ]


def _iter_models(offers: ModelOffers) -> Iterator[tuple[str, str]]:
    for local in offers.local:
        yield from ((model, local.name or local.provider) for model in local.models)
    ready = sorted(offers.providers, key=lambda one: not one.key_set)
    for provider in ready:
        yield from ((model.id, provider.title) for model in provider.models)


def _list_agent_ids(file: JsonValue) -> list[str]:
    agents = agents_schema.find_value(file, ("agents",))
    held = agents if isinstance(agents, list) else []
    ids = [agents_schema.find_value(one, ("agentId",)) for one in held]
    return [one for one in ids if isinstance(one, str)]


async def _ask(request: ScreenRequest, method: str, answer: type[M]) -> M | None:
    """Return the answer of an extension; None where it cannot be had, as the form works without."""
    with suppress(OrchestratorError, RpcError, TimeoutError):
        return await edit_calls.ask_extension(request, method, None, answer)
    return None
