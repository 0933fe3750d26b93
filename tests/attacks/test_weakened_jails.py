"""`orchestrator doctor` sees a jail that does not hold, whatever its process reports."""

import json
import os
from pathlib import Path

import anyio
import pytest
from attacks.lost_defences import LOST_DEFENCES, NO_JAIL, TOOLHOST, UNPROVEN
from attacks.weakened_build import Edit, build_with

from orchestrator.extensions.doctor.jail_probes import list_jail_kinds
from thinker.jail import landlock

SECCOMP, LANDLOCK = NO_JAIL[1:3]
EVERY = frozenset(kind.name for kind in list_jail_kinds())
KEYS = Edit(
    f"{TOOLHOST}/jail_order.py",
    "shown=tuple(cover_all_but((*hidden, *secrets)))",
    "shown=tuple(cover_all_but(hidden))",
)
# The lost part of the jails, and whose jails have less than they should.
WEAKENED: dict[str, tuple[tuple[Edit, ...], frozenset[str]]] = {
    "files": ((LANDLOCK, *UNPROVEN), EVERY),
    "system calls": ((SECCOMP, *UNPROVEN), EVERY),
    "what servers write": (
        LOST_DEFENCES["a server writes its own folder alone"],
        frozenset({"tool host"}),
    ),
    "keys of the user": ((KEYS,), frozenset({"MCP server"})),
    "sockets of servers": (
        LOST_DEFENCES["a server has sockets of the internet and no namespaces"],
        frozenset({"MCP server"}),
    ),
}
pytestmark = pytest.mark.process


@pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel")
@pytest.mark.thorough(part="defences")
@pytest.mark.parametrize("lost", WEAKENED)
async def test_weakened_jail_is_seen_through(lost: str, tmp_path: Path) -> None:
    """The doctor lists what was reached, and finds a problem if the jail says that it is full."""
    edits, weak = WEAKENED[lost]
    home, user = tmp_path / "home", tmp_path / "user"
    home.mkdir(mode=0o700)
    for name in (".ssh", ".aws", ".config/git"):
        (user / name).mkdir(parents=True)
    python = build_with(edits, tmp_path)
    ended = await anyio.run_process(
        (python, "-P", "-m", "orchestrator", "doctor", "--json"),
        env={"PATH": os.environ["PATH"], "HOME": str(user), "ORCHESTRATOR_HOME": str(home)},
        cwd=home,
        check=False,
    )
    jails = json.loads(ended.stdout)["jails"]
    open_jails = {jail["jail"] for jail in jails if jail["unexpected"]}
    assert open_jails == weak
    assert any(jail["sandbox"] == "full" for jail in jails if jail["unexpected"]) is bool(
        ended.returncode
    )
