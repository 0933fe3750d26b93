"""The jails of the tool host and of its servers, as `orchestrator doctor` tries them."""

import os
import sys

from orchestrator.extensions.mcp_client.toolhost.jail import enter_host_jail, enter_server_jail
from orchestrator.extensions.mcp_client.toolhost.jail_order import JailOrder, Surroundings
from orchestrator.extensions.mcp_client.toolhost.server_jails import list_openings
from orchestrator.extensions.mcp_client.toolhost.wire import ServerJail
from orchestrator.findings import JailKind, ProbeTargets
from orchestrator.jail_broker.answered_calls import AnsweredCalls
from thinker.jail.hardening import harden_process
from thinker.protocol.sandbox import SandboxReport

OPEN = frozenset({"TCP", "fork", "exec"})  # servers are programs with a network
# Read by servers, as other files of the user that hold no secrets.
READ = frozenset({"program: list", ".bashrc: read", ".config/git: list"})
# Read by the tool host, since a server may name them in "sandbox".
SECRETS = frozenset({".ssh: list", ".aws: list", ".gnupg: list"})
# What a server keeps whose "sandbox" is "off".
KERNEL = frozenset({"unshare", "netlink", "shared memory"})
# The daemon refuses each of its own processes that connects.
LOCAL = frozenset({"socket", "control socket: connect"})
MODES = frozenset({"mode"})  # of any file, which Landlock does not look at


def _enter_tool_host_jail(targets: ProbeTargets) -> SandboxReport:
    harden_process()
    around = Surroundings.from_environment(str(targets.home), os.environ, targets.config)
    return enter_host_jail(around, targets.pids["supervisor"])


def _enter_mcp_server_jail(targets: ProbeTargets) -> SandboxReport:
    """Be a server without a ``sandbox`` of its own in agents.json."""
    around = Surroundings.from_environment(str(targets.home), os.environ, targets.config)
    order = JailOrder(
        home=around.home,
        private=str(targets.home / "servers" / "none"),
        supervisor=targets.pids["supervisor"],
        **list_openings(around, sys.executable, ServerJail()),
    )
    enter_host_jail(around, order.supervisor)
    calls = AnsweredCalls((), ownership=True)
    calls.fork_inside()
    return enter_server_jail(order, calls.inside)


JAIL_KINDS = (
    JailKind("tool host", _enter_tool_host_jail, OPEN | READ | SECRETS | KERNEL | LOCAL | MODES),
    JailKind("MCP server", _enter_mcp_server_jail, OPEN | READ),
)
