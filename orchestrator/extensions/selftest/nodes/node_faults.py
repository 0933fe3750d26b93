"""The faults of nodes by their names, with those that begin with an edit of agents.json."""

import json
from collections.abc import Awaitable, Callable, Iterable

import anyio
from anyio import to_thread

from orchestrator.extensions.selftest.nodes.cluster import (
    DATABASE,
    DRAINED_WITHIN,
    LOOK,
    Cluster,
    read_clock,
)
from orchestrator.extensions.selftest.nodes.node import WITHIN, TriedNode, wait_until
from orchestrator.home_paths import Paths
from thinker.protocol.messages import JsonObject

APPLIED = "config_applied"
REVISION = 0.01  # added to the temperature of agents with each pushed version
ROOM = 180  # tokens that are left of a budget as it comes: ten calls
MET_WITHIN = 20.0  # seconds; later than that no one writes any more
SPENT = """SELECT coalesce(sum(prompt + completion), 0) FROM model_call
  WHERE at > extract(epoch FROM clock_timestamp()) * 1000 - 3600000"""
PAUSED = "SELECT count(*) FROM pause WHERE kind = 'budget' AND ended_at IS NULL"
TOLD = """SELECT count(*) FROM (SELECT chat_key FROM outbox o WHERE body LIKE 'I am paused%'
  GROUP BY chat_key HAVING count(*) > (
    SELECT count(*) FROM pause_told t WHERE t.chat_key = o.chat_key)) AS twice"""


async def lack_configuration(cluster: Cluster) -> None:
    """Push a configuration that the working node cannot store, until others have its agents."""
    node, began = cluster.works, read_clock()
    other = next(other for other in cluster.nodes if other is not node)
    obstacle = Paths(node.home).pushed
    obstacle.unlink(missing_ok=True)
    obstacle.mkdir()
    file = _read_agents_file(other)
    temperature = float(str(file["agents"][0].get("temperature", 0.0))) + REVISION
    _write_agents_file(
        [other], {"agents": [agent | {"temperature": temperature} for agent in file["agents"]]}
    )
    await other.run_command("config", "push")
    await cluster.wait_until_placed(began, node.url, DRAINED_WITHIN)
    obstacle.rmdir()
    await cluster.wait_for_groups()


async def meet_budget(cluster: Cluster) -> None:
    """Kill the working daemon once a call is refused that the shared budget has no room for."""
    limit = await _count_rows(cluster, SPENT) + ROOM
    await _apply_budget(cluster, {"tokensPerHour": limit})
    with anyio.move_on_after(MET_WITHIN):
        await _wait_for_count(cluster, PAUSED, lambda paused: paused > 0)
    most = max(limit, await _count_rows(cluster, SPENT))  # calls had begun before
    await cluster.kill_node()
    spent = await _count_rows(cluster, SPENT)
    if spent > most:
        cluster.add_violation("budget", f"{spent} tokens were spent of {most}")
    if await _count_rows(cluster, TOLD):
        cluster.add_violation("budget", "a chat was told twice of one pause")
    await _apply_budget(cluster, None)
    await _wait_for_count(cluster, PAUSED, lambda paused: paused == 0)


async def _apply_budget(cluster: Cluster, budget: JsonObject | None) -> None:
    """Give all nodes a shared budget, and wait until they know of it."""
    before = [node.count_events(APPLIED) for node in cluster.nodes]
    _write_agents_file(cluster.nodes, {"budget": budget})
    await wait_until(
        lambda: all(
            node.count_events(APPLIED) > count
            for node, count in zip(cluster.nodes, before, strict=True)
        ),
        cluster.patience,
    )


def _read_agents_file(node: TriedNode) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = json.loads((node.home / "agents.json").read_text("utf-8"))
    return found


def _write_agents_file(nodes: Iterable[TriedNode], fields: JsonObject) -> None:
    """Change some fields of the file of nodes; None removes one."""
    for node in nodes:
        whole = {**_read_agents_file(node), **fields}
        kept = {name: value for name, value in whole.items() if value is not None}
        (node.home / "agents.json").write_text(json.dumps(kept), "utf-8")


async def _count_rows(cluster: Cluster, query: str) -> int:
    found = await to_thread.run_sync(cluster.servers.first.query_database, DATABASE, query)
    return int(found)


async def _wait_for_count(cluster: Cluster, query: str, is_enough: Callable[[int], bool]) -> None:
    with anyio.fail_after(cluster.patience + WITHIN):  # a node looks at pauses each minute
        while not is_enough(await _count_rows(cluster, query)):  # noqa: ASYNC110 - no events
            await anyio.sleep(LOOK)


Fault = Callable[[Cluster], Awaitable[None]]
FAULTS: dict[str, Fault] = {
    "kill": Cluster.kill_node,
    "freeze": Cluster.freeze_node,
    "block": Cluster.block_network,
    "session": Cluster.end_session,
    "restart": Cluster.restart_server,
    "failover": Cluster.fail_over_server,
    "clocks": Cluster.kill_node,
    "upgrade": Cluster.upgrade_node,
}
ALL_WORK = "all-"  # begins the name of a fault of nodes that work at the same time
FAULTS |= {f"{ALL_WORK}{name}": fault for name, fault in FAULTS.items() if name != "clocks"}
FAULTS |= {
    f"{ALL_WORK}drain": Cluster.drain_node,
    f"{ALL_WORK}join": Cluster.join_node,
    f"{ALL_WORK}retake": Cluster.retake_groups,
    f"{ALL_WORK}lack": lack_configuration,
    f"{ALL_WORK}budget": meet_budget,
}
