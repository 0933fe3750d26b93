"""Links between the nodes of a journal, without their daemons."""

from types import SimpleNamespace
from typing import Any, cast

from orchestrator.extension import DaemonView
from orchestrator.extensions.http_api.node_link import NodeLink
from orchestrator.journal.db.store import Store
from orchestrator.placement import Placement, SingleNode


def link_node(
    store: Store, placement: Placement, *, shared: bool = True, url: str = "http://one"
) -> NodeLink:
    """Return the link of a node with this placement, to be opened; others reach it at ``url``."""
    store.is_shared = shared
    machine = SimpleNamespace(random_bytes=lambda count: b"k" * count)
    settings = SimpleNamespace(node_url=url)
    view: Any = SimpleNamespace(
        store=store, placement=placement, machine=machine, settings=settings
    )
    return NodeLink(cast("DaemonView", view))


def lone_node() -> NodeLink:
    """Return the link of a daemon that has its journal for itself."""
    store: Any = SimpleNamespace()
    return link_node(store, SingleNode(), shared=False)
