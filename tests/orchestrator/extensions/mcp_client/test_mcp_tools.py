"""MCP tools as agents see them: names, side-effect classes, and limits on servers."""

import re
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agentsfile import AgentDefinition, McpServer, ServerSandbox
from orchestrator.extensions.mcp_client.mcp_tools import (
    KEY,
    build_arguments,
    build_catalog,
    explain_smuggled_text,
    make_tool_name,
    uses_server,
)
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, SideEffect

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "$defs": {}}
KEYED: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "string"}, KEY: {"type": "string"}},
    "required": ["a", KEY],
}
PLAIN = McpServer(command="x")
TRUSTED = McpServer(command="x", trusted=True, timeout_seconds=7)


def tool(name: str, schema: JsonObject = SCHEMA, **hints: bool) -> ServerTool:
    """A tool as a server lists it."""
    return ServerTool(name=name, description=f"does {name}", parameters=schema, **hints)


@pytest.mark.parametrize(
    ("allow", "deny", "used"),
    [
        ((), (), True),
        (("git_hub_*",), (), True),
        (("git*",), (), True),
        (("git_hub_push",), (), True),
        (("read_file", "mail_*"), (), False),
        ((), ("*",), False),
        ((), ("git_*",), False),
        ((), ("git_hub_push", "*_delete"), True),
    ],
)
def test_agent_uses_a_server_whose_tools_its_lists_may_permit(
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    used: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    """Its turns wait for no other, before it is known what it lists."""
    fields = {"agentId": "work", "model": "m", "allowedTools": allow, "deniedTools": deny}
    assert uses_server(AgentDefinition.model_validate(fields), "git.hub") is used


def only(server: McpServer, listed: ServerTool) -> RemoteTool:
    """The one tool of one server."""
    tools, problems = build_catalog({"s": (listed,)}, {"s": server}, ())
    assert problems == ()
    (found,) = tools.values()
    return found


def test_tool_has_its_servers_name_and_an_unchanged_schema() -> None:
    """The model sees what the server says, under a name that cannot be another server's."""
    found = only(PLAIN, tool("read"))
    assert found.spec.name == "s_read"
    assert found.spec.description == "does read"
    assert found.spec.parameters == SCHEMA
    assert (found.spec.always, found.server, found.tool, found.timeout) == (False, "s", "read", 60)


def test_internal_tools_are_left_out() -> None:
    """Those that begin with an underscore, and health."""
    listed = (tool("_secret"), tool("health"), tool("healthy"))
    tools, problems = build_catalog({"s": listed}, {"s": PLAIN}, ())
    assert set(tools) == {"s_healthy"}
    assert problems == ()


@given(st.text(min_size=1, max_size=90), st.text(max_size=90))
def test_name_fits_every_provider(server: str, text: str) -> None:
    """For any name that a server chooses."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", make_tool_name(server, text))


def test_long_names_stay_different() -> None:
    """They are cut, and a hash of the whole name distinguishes them."""
    names = {make_tool_name("server", "x" * 80 + end) for end in "abc"}
    assert len(names) == 3
    assert all(len(name) == 64 for name in names)


def test_builtin_tool_wins() -> None:
    """A server must not intercept calls that store memories."""
    tools, problems = build_catalog({"store": (tool("fact"),)}, {"store": PLAIN}, {"store_fact"})
    assert tools == {}
    assert "store_fact: a built-in tool has this name" in problems[0]


@pytest.mark.parametrize("order", [("git", "git_hub"), ("git_hub", "git")])
def test_server_cannot_take_a_name_of_another(order: tuple[str, str]) -> None:
    """The longest server name owns it, in any order and whether or not it is connected.

    The other tool has a name that no pattern for the owner's tools matches.
    """
    servers = dict.fromkeys(order, PLAIN)
    listed = {"git": (tool("hub_push"), tool("log")), "git_hub": (tool("push"),)}
    tools, problems = build_catalog(listed, servers, ())
    assert {name: found.server for name, found in tools.items()} == {
        "git_log": "git",
        "git__cc735924_hub_push": "git",
        "git_hub_push": "git_hub",
    }
    assert problems == ()
    alone, _ = build_catalog({"git": listed["git"]}, servers, ())
    assert set(alone) == {"git_log", "git__cc735924_hub_push"}


@pytest.mark.parametrize("order", list(permutations(("a.b", "a_b", "a/b"))))
def test_tools_whose_names_look_alike_to_models_are_all_offered(order: tuple[str, ...]) -> None:
    """Their names depend on no order, and stay when one of the others is withheld."""
    listed = tuple(map(tool, order))
    tools, problems = build_catalog({"s": listed}, {"s": PLAIN}, ())
    named = {name: found.tool for name, found in tools.items()}
    assert named == {"s_a_b": "a_b", "s_a_b_cda64c94": "a.b", "s_a_b_e84890f4": "a/b"}
    assert problems == ()
    usable, _ = build_catalog({"s": listed[1:]}, {"s": PLAIN}, (), {"s": listed})
    assert {name: found.tool for name, found in usable.items()} == {
        name: found for name, found in named.items() if found != order[0]
    }


def test_servers_whose_names_look_alike_keep_their_tools_apart() -> None:
    """The one with the plain name keeps it."""
    servers = {"a.b": PLAIN, "a_b": PLAIN}
    tools, problems = build_catalog({"a.b": (tool("t"),), "a_b": (tool("t"),)}, servers, ())
    assert {name: found.server for name, found in tools.items()} == {
        "a_b__76a64d15_t": "a.b",
        "a_b_t": "a_b",
    }
    assert problems == ()


@pytest.mark.parametrize(
    ("server", "listed", "expected"),
    [
        (PLAIN, tool("t", read_only=True, idempotent=True), SideEffect.NON_IDEMPOTENT),
        (PLAIN, tool("t", KEYED), SideEffect.NON_IDEMPOTENT),
        (TRUSTED, tool("t"), SideEffect.NON_IDEMPOTENT),
        (TRUSTED, tool("t", read_only=True), SideEffect.PURE),
        (TRUSTED, tool("t", idempotent=True), SideEffect.KEYED),
        (TRUSTED, tool("t", KEYED), SideEffect.KEYED),
    ],
)
def test_hints_count_for_trusted_servers_alone(
    server: McpServer, listed: ServerTool, expected: SideEffect
) -> None:
    """A server could call a payment read-only."""
    assert only(server, listed).spec.side_effect is expected


def test_key_is_filled_in_and_hidden_from_the_model() -> None:
    """The journal sets it: a model would invent a new one each time."""
    found = only(TRUSTED, tool("pay", KEYED))
    assert found.spec.parameters == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }
    assert build_arguments(found, {"a": "1"}, "turn:3") == {"a": "1", KEY: "turn:3"}
    assert found.timeout == 7


def test_untrusted_server_gets_no_key() -> None:
    """Its schema stays as it is, and the arguments are the model's."""
    found = only(PLAIN, tool("pay", KEYED))
    assert found.spec.parameters == KEYED
    assert build_arguments(found, {"a": "1"}, "turn:3") == {"a": "1"}


@pytest.mark.parametrize("schema", [{}, {"properties": 3, "required": "all"}, {"properties": {}}])
def test_odd_schema_is_passed_on(schema: JsonObject) -> None:
    """The tool's server decides."""
    assert only(TRUSTED, tool("t", schema)).spec.parameters == schema


@pytest.mark.parametrize(
    ("sandbox", "carries"),
    [
        (ServerSandbox(), True),
        (ServerSandbox(network=False), False),
        (ServerSandbox(network=("api.example.com:443",)), True),
        (ServerSandbox(network=False, sockets=True), True),
        ("off", True),
    ],
)
def test_tool_without_a_way_out_of_its_jail_carries_nothing(
    sandbox: ServerSandbox | str, *, carries: bool
) -> None:
    """A program of this machine that listens on a socket is a way out, too."""
    server = McpServer.model_validate({"command": "x", "sandbox": sandbox})
    assert only(server, tool("send_mail")).carries is carries


QUERY: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
COUNT: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize("name", ["get_page", "counter"])
def test_only_a_trusted_server_is_believed_that_it_keeps_what_it_is_asked(name: str) -> None:
    """Private text in a question reaches the author of the server."""
    read = tool(name, QUERY, read_only=True)
    assert only(PLAIN, read).carries
    assert not only(TRUSTED, read).carries


def test_argument_that_no_parameter_is_for_is_refused_unless_the_server_is_trusted() -> None:
    """The call would carry text without an approval."""
    asked: JsonObject = {"n": 1, "note": "PRIVATE"}
    for server, said in ((PLAIN, "'note'"), (TRUSTED, "")):
        found = only(server, tool("get_page", COUNT))
        assert not found.carries
        assert said in explain_smuggled_text(found, asked, server)
        assert bool(explain_smuggled_text(found, asked, server)) is bool(said)
        assert explain_smuggled_text(found, {"n": 1}, server) == ""


def test_tool_knows_the_lists_from_which_its_values_may_be() -> None:
    """Those of a directory, for all servers, and those of its own server if that is trusted."""
    mail = {"command": "x", "arguments": {"send": {"decide": ["where"], "content": ["what"]}}}
    servers = {
        "mail": McpServer.model_validate(mail),
        "crm": McpServer(command="x", trusted=True, directories=("find_*",)),
    }
    listed = {
        "mail": (tool("send"), tool("list_mails")),
        "crm": (tool("find_people"), tool("add_person"), tool("get_page")),
    }
    tools, _ = build_catalog(listed, servers, ())
    send, add = tools["mail_send"], tools["crm_add_person"]
    assert [send.directories, send.siblings] == [frozenset(["crm_find_people"]), frozenset()]
    assert send.arguments == {"decide": ("where",), "content": ("what",)}
    assert add.siblings == {"crm_find_people", "crm_add_person"}
    assert (add.arguments, add.acts, tools["crm_get_page"].acts) == ({}, True, False)
