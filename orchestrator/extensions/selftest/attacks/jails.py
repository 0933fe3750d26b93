"""Attacks from inside each jail: code in a worker, in the page, and in a child of the tool host.

Each tries everything in one go, except what its jail leaves open on purpose.
"""

import json
import re
from functools import partial

import anyio

from orchestrator.extensions.selftest.attacks.attack_world import (
    DOCUMENTS,
    KEYS,
    SETTLED_WITHIN,
    STARTING,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.inside import COMMAND, MARK, SCORE, TARGET, WEDGE
from orchestrator.extensions.selftest.attacks.obedient_model import (
    FINISHED,
    make_answer_order,
    make_call_order,
)
from orchestrator.extensions.selftest.attacks.page_probe import OPEN_FILE

_ON_A_PROCESS = (
    "environ",
    "mem",
    "maps",
    "descriptors",
    "ptrace",
    "pidfd",
    "kill",
    "priority",
    "limits",
)
_FILES = (
    "agents.json",
    "agents.last-good.json",
    "api-token",
    "keys.env",
    "journal.db",
    "agent-prompts/public.txt",
    "agents/public/instructions.md",
    "agents/public/skills/other/SKILL.md",
)
_SKILL = "skills/closed/SKILL.md"  # that the agent of the worker may not use
_SHARED = ("skills", "prompts")  # folders that every worker reads
_FOLDERS = (".", "agent-prompts", "agents", "agents/public", "hooks", *_SHARED)
_KERNEL = ("io_uring_setup", "bpf", "perf_event_open", "userfaultfd", "keyctl")
_ANYWHERE = (
    *(f"daemon: {what}" for what in _ON_A_PROCESS),
    COMMAND,
    SCORE,
    *(f"{name}: {what}" for name in _FILES for what in ("read", "write")),
    *(f"{name}: write" for name in (*_FOLDERS, *STARTING)),
    *(f"{name}: mode" for name in ("agents.json", "journal.db", ".")),
    *_KERNEL,
)
_CALLS = ("unshare", "netlink", "shared memory")
_ALONE = ("TCP", "socket", "fork", "exec", *_CALLS)
_PROGRAM = "the daemon's program"
_WRITTEN = tuple(f"{name}: write" for name in (_PROGRAM, *DOCUMENTS))
_KEYS = tuple(f"{name}: list" for name in KEYS)
_ATTEMPTS = {
    "a worker": (
        *(*_ANYWHERE, *_WRITTEN, *_KEYS),
        *(f"{name}: list" for name in _FOLDERS if name not in (*_SHARED, "hooks")),
        *_ALONE,
    ),
    "the page": (
        *(what for what in _ANYWHERE if what != "journal.db: read"),
        *(*_WRITTEN, *_KEYS),
        *(f"{name}: list" for name in _FOLDERS),
        *(*_ALONE, OPEN_FILE),
    ),
    "an MCP server": (*_ANYWHERE, *(f"{name}: list" for name in _FOLDERS if name != "skills")),
}
_OF_A_SERVER = {
    **dict.fromkeys(_WRITTEN, "a server writes its own folder alone"),
    **dict.fromkeys(_KEYS, "a server reads no keys"),
    **dict.fromkeys(_CALLS, "a server has sockets of the internet and no namespaces"),
}
_POLL = 0.02  # seconds between two checks
_STALLED = 8.0  # seconds without an answer; an idle machine needs a tenth
_LIST = re.compile(rf"{MARK}(\[[^\[\]]*\])")


def _build_target(world: AttackWorld) -> str:
    """Return the targets to try; all exist, so that only a jail can refuse them."""
    home = world.home
    for name in ("agents/public/instructions.md", "agents/public/skills/other/SKILL.md", _SKILL):
        path = home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text("---\nname: other\ndescription: d\n---\nSecret.\n", "utf-8")
    paths = {name: str(home / name) for name in (*_FILES, *_FOLDERS, _SKILL)}
    user = (*STARTING, *DOCUMENTS, *KEYS)
    paths |= {name: str(world.folder / "user" / name) for name in user}
    paths[_PROGRAM] = world.find_program()
    missing = [name for name, path in paths.items() if not (home / path).exists()]
    if missing:
        raise RuntimeError(f"the daemon has no {missing}; adapt the attack")
    control = str(world.settings.paths.control_socket)
    return json.dumps([world.pid, control, paths]).encode().hex()


async def _run_in_worker(world: AttackWorld) -> str:
    """Let a hook of an agent try everything and tell the model."""
    await world.write_message(world.take_chat("hooked"), f"{TARGET}{_build_target(world)} ")
    return str(world.model.requests[-1]["messages"][-1]["content"])


async def _run_in_server(world: AttackWorld) -> str:
    """Let an MCP server try everything; its result tells the model."""
    chat = world.take_chat()
    await world.write_message(
        chat, make_call_order(world.make_order_id(), "hx_probe", target=_build_target(world))
    )
    return str(world.model.requests[-1]["messages"][-1]["content"])


async def _run_in_page(world: AttackWorld) -> str:
    """Try everything in a process that enters the page's jail as the page does."""
    program = (world.python, "-P", "-m", "orchestrator.extensions.selftest.attacks.page_probe")
    arguments = (str(world.settings.paths.journal), _build_target(world))
    ended = await anyio.run_process(
        (*program, *arguments), env=world.build_environ(), cwd=world.home
    )
    return ended.stdout.decode()


async def _start_pdf_thread(world: AttackWorld) -> str:
    """Let the PDF library have a thread that reads a key once the reader has closed its jail."""
    program = (world.python, "-P", "-m", "orchestrator.extensions.selftest.attacks.reader_probe")
    ended = await anyio.run_process(
        (*program, str(world.settings.paths.keys)), env=world.build_environ(), cwd="/"
    )
    return ended.stdout.decode()


_PLACES = {"a worker": _run_in_worker, "the page": _run_in_page, "an MCP server": _run_in_server}


async def _try_in_place(place: str, what: str, world: AttackWorld) -> str:
    """Try everything once in a place, and return whether this attempt succeeded."""
    if place not in world.reached:
        await world.write_message(
            world.take_chat("public"), "hello"
        )  # so that its prompt is on disk
        told = await _PLACES[place](world)
        found = _LIST.search(told)
        if found is None:
            raise RuntimeError(f"{place} did not tell what it tried: {told[:300]}")
        world.reached[place] = json.loads(found[1])
    return what if what in world.reached[place] else ""


async def _wedge_broker(world: AttackWorld) -> str:
    """Let a hook never read an answer, over a socket that it has made wait; others go on."""
    world.bot.send_user_message(
        world.take_chat("hooked"), f"{WEDGE}{make_answer_order(world.make_order_id(), '$LONG')}"
    )
    with anyio.fail_after(SETTLED_WITHIN):
        while not world.model.has_seen("long long"):  # noqa: ASYNC110 - the model has no events
            await anyio.sleep(_POLL)
    other = world.take_chat("public")
    world.bot.send_user_message(other, "hello")
    with anyio.move_on_after(_STALLED):
        while FINISHED not in world.bot.list_texts(other):
            await world.bot.wait_for_change()
    reached = "" if FINISHED in world.bot.list_texts(other) else "another agent got no answer"
    await world.wait_until_settled(other)
    return reached


ATTACKS = (
    *(
        Attack(f"{place} tries {what}", f"the jail of {place}", partial(_try_in_place, place, what))
        for place, attempts in _ATTEMPTS.items()
        for what in attempts
    ),
    *(
        Attack(
            f"an MCP server tries {what}", defence, partial(_try_in_place, "an MCP server", what)
        )
        for what, defence in _OF_A_SERVER.items()
    ),
    Attack(
        "a PDF starts a thread", "threads of the PDF library begin in its jail", _start_pdf_thread
    ),
    Attack(
        "a worker reads a skill that its agent may not use",
        "a worker's skills",
        partial(_try_in_place, "a worker", f"{_SKILL}: read"),
    ),
    Attack("a worker makes the broker wait", "the broker never waits for a worker", _wedge_broker),
)
