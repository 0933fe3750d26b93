"""Say what changes in the MCP servers of agents.json: above all what they can reach."""

from collections.abc import Iterator

from orchestrator.agentsfile.server_sandbox import describe_jail
from orchestrator.extensions.versions.field_sentences import describe_fields, read_object
from thinker.protocol.messages import JsonObject

WORDED = frozenset({"sandbox", "disabled", "trusted", "pin"})


def describe_servers(before: JsonObject, after: JsonObject) -> Iterator[str]:
    """Yield a sentence for each change, in two versions of ``mcpServers``."""
    old = {name: read_object(server) for name, server in before.items()}
    new = {name: read_object(server) for name, server in after.items()}
    for name, server in new.items():
        if name not in old:
            yield f"server {name} is added; {_describe_reach(server)}"
        elif server != old[name]:
            yield from _describe_server(name, old[name], server)
    for name in old.keys() - new.keys():
        yield f"server {name} is removed, with all its tools"


def _describe_reach(server: JsonObject) -> str:
    if server.get("disabled"):
        return "it is switched off"
    if server.get("url"):
        return f"its tools run at {server['url']}"
    return f"its programs run {describe_jail(server.get('sandbox'))}"


def _describe_server(name: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
    if bool(old.get("disabled")) != bool(new.get("disabled")):
        yield f"server {name} is switched {'off' if new.get('disabled') else 'on'}"
    if old.get("sandbox") != new.get("sandbox"):
        before, after = (describe_jail(one.get("sandbox")) for one in (old, new))
        yield f"server {name}: its programs run {after}; before {before}"
    if bool(old.get("trusted")) != bool(new.get("trusted")):
        says = "what it says of its tools counts" if new.get("trusted") else "it is not trusted"
        yield f"server {name}: {says}{' from now on' if new.get('trusted') else ' any more'}"
    if (old.get("pin") is not False) != (new.get("pin") is not False):
        yield (
            f"server {name}: tools whose description changes are used without an approval"
            if new.get("pin") is False
            else f"server {name}: tools whose description changes wait for an approval"
        )
    rest = [{key: one[key] for key in one if key not in WORDED} for one in (old, new)]
    yield from describe_fields(f"server {name}: ", *rest)
