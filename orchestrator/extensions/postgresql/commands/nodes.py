"""``orchestrator nodes``: the daemons that work together on one journal."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import print_json, print_table
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, UnknownNameError
from orchestrator.journal.opening import find_engine, open_for_reading
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import Node

app = make_command_group("nodes")


class NodeReport(CamelModel):
    """One node in ``nodes list --json``."""

    name: str
    url: str
    groups: int
    lives: bool
    drained: bool


class NodesReport(CamelModel):
    """The output of ``nodes list --json``."""

    nodes: tuple[NodeReport, ...]


@app.command("list")
def list_nodes(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the nodes that share the journal: which run, and how many groups of agents each has."""
    server = _require_server(home)
    nodes = _load_nodes(server)
    if as_json:
        print_json(NodesReport(nodes=tuple(nodes)))
        return
    print_table(
        "Nodes",
        ("machine", "address", "groups", "state"),
        [(one.name, one.url, one.groups, _describe_state(one)) for one in nodes],
    )


@app.command()
def drain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its machine or address.")],
    *,
    end: Annotated[bool, typer.Option("--end", help="Let it take groups again.")] = False,
    home: Home = None,
) -> None:
    """Let a node give its agents to the others: idle ones at once, others after their turns.

    It takes no others until `nodes drain --end`. The last node keeps what it has.
    """
    server = _require_server(home)
    found = [one for one in _load_nodes(server) if name in (one.name, one.url)]
    if len(found) != 1:
        raise UnknownNameError(
            f"{format_count(len(found), 'node')} of this name; see: orchestrator nodes list"
        )
    from orchestrator.extensions.postgresql.nodes import sharing_state  # noqa: PLC0415 - psycopg is optional
    from orchestrator.extensions.postgresql.pg_opening import open_beside_daemon  # noqa: PLC0415

    with open_beside_daemon(server) as db:
        node = Node(found[0].name, found[0].url)
        (sharing_state.resume_node if end else sharing_state.drain_node)(db, node)
    print_text(f"{found[0].url} {'takes' if end else 'gives away'} groups of agents")


def _describe_state(node: NodeReport) -> str:
    words = "runs" if node.lives else "does not run"
    return f"{words}, drained" if node.drained else words


def _load_nodes(server: DatabaseServer) -> list[NodeReport]:
    find_engine(server)  # raises without one
    from orchestrator.extensions.postgresql.nodes import sharing_state  # noqa: PLC0415 - psycopg is optional

    with open_for_reading(server) as db:
        return [NodeReport.model_validate(one._asdict()) for one in sharing_state.list_nodes(db)]


def _require_server(home: Home) -> DatabaseServer:
    server = load_settings(home).journal
    if not isinstance(server, DatabaseServer):
        raise ConfigError("the journal is a file, which one daemon uses; set ORCHESTRATOR_STORE")
    return server
