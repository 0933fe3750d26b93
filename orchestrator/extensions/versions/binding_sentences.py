"""Say which chats go to another agent after a change of agents.json."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.agentsfile.channel_kinds import ACCOUNT_SIGN
from orchestrator.extensions.versions.field_sentences import describe_fields
from thinker.protocol.messages import JsonObject

ROLES = {
    "talk": "may only talk",
    "approve": "may talk and approve calls",
    "operate": "may operate the daemon",
}
PLACE = frozenset({"channel", "account", "chatId", "threadId", "agentId", "role"})


def describe_bindings(before: JsonObject, after: JsonObject) -> Iterator[str]:
    """Yield a sentence for each chat that moves, in two versions of the whole file."""
    old, new = _index_bindings(before), _index_bindings(after)
    for place, binding in new.items():
        if place not in old:
            yield f"{_name_place(place)} goes to {binding.get('agentId')}{_format_role(binding)}"
        else:
            yield from _describe_binding(place, old[place], binding)
    for place in old.keys() - new.keys():
        agent = old[place].get("agentId")
        yield f"{_name_place(place)} does not go to {agent} by a binding any more"
    if [*old] != [*new] and old.keys() == new.keys():
        yield "the bindings have another order: of those that fit a chat alike, the first counts"
    yield from _describe_fallback(before.get("fallbackAgentId"), after.get("fallbackAgentId"))


def _describe_binding(place: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
    if old.get("agentId") != new.get("agentId"):
        yield f"{_name_place(place)} moves from {old.get('agentId')} to {new.get('agentId')}"
    if old.get("role") != new.get("role"):
        role = new.get("role")
        what = ROLES.get(str(role), "may do what their role elsewhere says")
        yield f"{_name_place(place)}: its people {what}"
    rest = [{key: one[key] for key in one if key not in PLACE} for one in (old, new)]
    yield from describe_fields(f"{place}: binding", *rest)


def _describe_fallback(old: JsonValue, new: JsonValue) -> Iterator[str]:
    if old == new:
        return
    if new is None:
        yield f"chats without a binding are refused; they went to {old}"
    elif old is None:
        yield f"chats without a binding go to {new}; they were refused"
    else:
        yield f"chats without a binding move from {old} to {new}"


def _format_role(binding: JsonObject) -> str:
    role = binding.get("role")
    return f"; its people {ROLES[role]}" if isinstance(role, str) and role in ROLES else ""


def _name_place(place: str) -> str:
    channel, _, chat = place.partition(":")
    return f"every chat of {channel}" if chat == "*" else place


def _index_bindings(file: JsonObject) -> dict[str, JsonObject]:
    """Return the bindings by the chat that they match; the first of the same chat counts."""
    items = file.get("bindings")
    found: dict[str, JsonObject] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            account = item.get("account")
            channel = f"{item.get('channel')}{f'{ACCOUNT_SIGN}{account}' if account else ''}"
            thread = item.get("threadId")
            chat = f"{item.get('chatId')}{f'/{thread}' if thread is not None else ''}"
            found.setdefault(f"{channel}:{chat}", item)
    return found
