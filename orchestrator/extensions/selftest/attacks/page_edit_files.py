"""Attacks on edited files: links, texts that are invalid or far too large, edits at one time."""

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import monotonic

import anyio

from orchestrator.control.connection import open_control_connection
from orchestrator.control.editing import FILE_CHECK, FILE_SAVE, FILE_UNDO
from orchestrator.control.protocol import RELOAD
from orchestrator.extensions.selftest.attacks.attack_world import (
    BELL_SECRET,
    KEY,
    POLL,
    SETTLED_WITHIN,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.posted_texts import (
    AGENTS,
    act,
    build_address,
    is_done,
    list_changed,
    log_operator_in,
    open_text,
    read_files,
    replace_text,
    save_text,
    send_save,
)
from orchestrator.extensions.selftest.attacks.raw_page import PageAnswer, get_page
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import PeerClosedError, RpcError

_STAY = "edits stay in the folder of their text"
_READ = "an edit replaces only the text that was read"
_UNDO = "an undo ends only the change that was seen"
_VALID = "texts with errors are not saved"
_MINE = "what the user wrote"
_SILENT = 5.0  # seconds without an answer; an idle machine needs a hundredth
_LARGE = 1_000_000  # characters: as many as a text may have
_DEEP = 100_000
_AFTER = re.compile(r'name="after" value="([0-9]+)"')
_FAULTS = range(500, 600)  # statuses
_SCREENS = (
    *("/", "/settings", "/settings/form?at=agents/0", "/texts", "/texts/agents.json", "/setup"),
    *("/texts/agents.json/history", "/agents", "/keys", "/people", "/tasks/new", "/memory"),
    *("/try", "/trials", "/sets", "/costs/savings"),
)
_MARK = "[kept secret: x]\n"
Plant = Callable[[AttackWorld, Path], Path]

_INVALID = {
    "is no JSON": "{",
    "has a comment": "// hello\n{}",
    "has no agent": '{"agents": []}',
    "is a list": "[]",
    "is empty": "",
    "has two keys of one name": '{"agents": [], "agents": []}',
    "has no number": '{"agents": [], "budget": NaN}',
    "is nested deeply": "[" * _DEEP,
    "has an unknown field": '{"agents": [{"agentId": "a", "llmProvider": "demo"}], "evil": 1}',
    "has an unknown provider": '{"agents": [{"agentId": "a", "llmProvider": "evil"}]}',
    "has one agent twice": '{"agents": [{"agentId": "a", "llmProvider": "demo"},'
    ' {"agentId": "a", "llmProvider": "demo"}]}',
    "binds no agent": '{"agents": [{"agentId": "a", "llmProvider": "demo"}],'
    ' "bindings": [{"channel": "web", "chatId": "*", "agentId": "b"}]}',
    "has NUL": '{"agents": [{"agentId": "a\0", "llmProvider": "demo"}]}',
    "has half a pair": '{"agents": [{"agentId": "a", "llmProvider": "demo", "model": "\\ud800"}]}',
}
_INVALID_PROMPTS = {
    "is a bomb": "a: &a [x,x]\n"
    + "".join(f"{b}: &{b} [{f'*{a},' * 9}]\n" for a, b in pairwise("abcdefghij")),
    "runs Python": "toolDescription: !!python/object/apply:os.getpid []\nprompt: x\n",
    "is nested deeply": f"toolDescription: {'[' * 5000}",
    "is no mapping": "- a\n- b\n",
    "has a field twice": "toolDescription: a\nprompt: b\nprompt: c\n",
}
# Texts that take long if they are read carelessly, each under the name of its kind.
_HEAVY: dict[str, tuple[str, str]] = {
    "brackets": (AGENTS, "[" * _DEEP),
    "lines": ("prompts/heavy.md", "\n" * _LARGE),
    "spaces": ("prompts/heavy.yaml", f"env:\n  a: b{' ' * (_LARGE - 20)}c"),
    "passwords": ("prompts/heavy.yaml", "env:\n" + f"  a: sk-{'a' * 20}\n" * (_LARGE // 29)),
    "broken keys": ("prompts/heavy.md", "-----BEGIN PRIVATE KEY" * (_LARGE // 22)),
    "marks": ("prompts/heavy.yaml", _MARK * (_LARGE // len(_MARK))),
    "fields for secrets": (AGENTS, '"env": {' * (_LARGE // 8)),
    "tokens": ("prompts/heavy.md", f"sk-{'a' * 20}\n" * (_LARGE // 24)),
    "keys": (AGENTS, json.dumps({"env": {f"a{number}": "x" for number in range(40_000)}})),
    "variables": ("prompts/heavy.md", "{{" * (_LARGE // 2)),
    "aliases": ("prompts/heavy.yaml", f"a: &a [{'x,' * 9}]\nb: [{'*a,' * (_LARGE // 3 - 20)}]"),
}


def _link_file(world: AttackWorld, path: Path) -> Path:
    """Make a text a link to a file of the user."""
    victim = world.outside / world.make_order_id()
    victim.write_text(_MINE, "utf-8")
    path.symlink_to(victim)
    return victim


def _link_keys(world: AttackWorld, path: Path) -> Path:
    """Make a text a link to the keys of the home."""
    path.symlink_to(world.settings.paths.keys)
    return world.settings.paths.keys


def _link_nothing(world: AttackWorld, path: Path) -> Path:
    """Make a text a link to a file that is not there yet."""
    victim = world.outside / world.make_order_id()
    path.symlink_to(victim)
    return victim


def _link_hard(world: AttackWorld, path: Path) -> Path:
    """Make a text another name of a file of the user."""
    victim = world.outside / world.make_order_id()
    victim.write_text(_MINE, "utf-8")
    path.hardlink_to(victim)
    return victim


def _read_or_nothing(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def _save_through(world: AttackWorld, plant: Plant, *, late: bool) -> str:
    """Save a text whose file leads elsewhere, since before the text was read or only then."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    path = world.home / name
    path.parent.mkdir(exist_ok=True)
    victim = Path()
    try:
        if late:
            await replace_text(world, who, name, _MINE)
            shown = await open_text(world, who, name)
            path.unlink()
        victim = plant(world, path)
        before = _read_or_nothing(victim)
        if not late:
            shown = await open_text(world, who, name)
            history = await get_page(world, f"/texts/{name}/history?version=1", who)
            if KEY in f"{shown.answer.body}{history.body}":
                return "the keys were shown"
        for send in (save_text, send_save):
            await send(world, who, name, "attacked", shown.base)
            await replace_text(world, who, name, "attacked")
        await act(world, who, FILE_SAVE, name=name, base=shown.base)
        after = _read_or_nothing(victim)
    finally:
        path.unlink(missing_ok=True)
    if before is not None and after is not None and before != after:
        victim.write_bytes(before)
    return "" if before == after else f"{victim.name} was changed"


async def _save_in_linked_folder(world: AttackWorld, name: str) -> str:
    """Save a text into a folder that is a link to one of the user."""
    who, victim = await log_operator_in(world), world.outside / world.make_order_id()
    victim.mkdir()
    folder = (world.home / name).parent
    folder.parent.mkdir(exist_ok=True, parents=True)
    folder.symlink_to(victim)
    text = f"---\nname: {folder.name}\ndescription: attacked\n---\nattacked\n"
    try:
        await replace_text(world, who, name, text)
        await send_save(world, who, name, text, "")
    finally:
        folder.unlink()
    return f"{name} was written elsewhere" if any(victim.iterdir()) else ""


async def _keep_out(world: AttackWorld, name: str, text: str) -> str:
    """Save a text that is not valid, by all ways; the present one has to stay in force."""
    who = await log_operator_in(world)
    agents = {agent.agent_id for agent in (await world.fetch_status()).agents}
    shown, before = await open_text(world, who, name), read_files(world)
    for answer in (
        await save_text(world, who, name, text, shown.base),
        await send_save(world, who, name, text, shown.base),
    ):
        if is_done(answer):
            await replace_text(world, who, name, shown.text or "x")
            return "it was saved"
    status = await world.fetch_status()
    if {agent.agent_id for agent in status.agents} != agents:
        return "another configuration is in force"
    return list_changed(world, before)


async def _save_stale_text(world: AttackWorld) -> str:
    """Save over what someone else has saved since the text was read."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    await replace_text(world, who, name, "first")
    old = await open_text(world, who, name)
    await save_text(world, who, name, "theirs", old.base)
    answers = [
        await save_text(world, who, name, "mine", old.base),
        await send_save(world, who, name, "mine", old.base),
        await save_text(world, who, name, "mine", ""),
        await act(world, who, FILE_SAVE, name=name, base=old.base),
    ]
    present = _read_or_nothing(world.home / name)
    if present != b"theirs":
        return f"it is now {present!r}"
    return "" if _shows_both(answers[0], "mine", "theirs") else "an edit was not shown"


async def _undo_unseen_change(world: AttackWorld) -> str:
    """Undo what was just saved, when someone else has saved since."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    for text in ("first", "mine", "theirs"):
        await replace_text(world, who, name, text)
    newest = await get_page(world, f"{build_address(name)}?saved=1", who)
    found = _AFTER.search(newest.body)
    if found is None:
        raise RuntimeError("the button to undo was not shown")
    await act(world, who, FILE_UNDO, name=name, after=str(int(found[1]) - 1))
    present = _read_or_nothing(world.home / name)
    return "" if present == b"theirs" else f"it is now {present!r}"


async def _save_over_editor(world: AttackWorld) -> str:
    """Save over what an editor in a terminal has written since the text was read."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    await replace_text(world, who, name, "first")
    old = await open_text(world, who, name)
    (world.home / name).write_text("theirs", "utf-8")
    answer = await save_text(world, who, name, "mine", old.base)
    present = _read_or_nothing(world.home / name)
    if present != b"theirs":
        return f"it is now {present!r}"
    return "" if _shows_both(answer, "mine", "theirs") else "an edit was not shown"


async def _save_at_once(world: AttackWorld) -> str:
    """Save four texts in place of the same one; one wins, and the others are told."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    await replace_text(world, who, name, "first")
    base = (await open_text(world, who, name)).base
    texts = [f"text {number} of four" for number in range(4)]
    answers: dict[str, PageAnswer] = {}

    async def save(text: str) -> None:
        answers[text] = await save_text(world, who, name, text, base)

    async with anyio.create_task_group() as tasks:
        for text in texts:
            tasks.start_soon(save, text)
    won = [text for text, answer in answers.items() if is_done(answer)]
    present = (world.home / name).read_text("utf-8")
    if won != [present]:
        return f"{won} were saved, and {present!r} is there"
    lost = (text for text in texts if text != present)
    unseen = [text for text in lost if not _shows_both(answers[text], text, present)]
    return f"{', '.join(unseen)} got lost" if unseen else ""


async def _save_beside_half_file(world: AttackWorld) -> str:
    """Save agents.json while an editor has written half of it: the half is never in force."""
    who, path = await log_operator_in(world), world.home / AGENTS
    whole, shown = path.read_text("utf-8"), await open_text(world, who, AGENTS)
    agents = {agent.agent_id for agent in (await world.fetch_status()).agents}
    mine = shown.text.replace("You are native.", "You are mine.")
    try:
        path.write_text(whole[: len(whole) // 2], "utf-8")
        answer = await save_text(world, who, AGENTS, mine, shown.base)
        half = await open_text(world, who, AGENTS)
        again = await save_text(world, who, AGENTS, half.text, half.base)
        status = await world.fetch_status()
    finally:
        path.write_text(whole, "utf-8")
        await replace_text(world, who, AGENTS, (await open_text(world, who, AGENTS)).text)
    if is_done(answer) or "You are mine." not in answer.body:
        return "half a file was replaced, or an edit was lost"
    if is_done(again) or {agent.agent_id for agent in status.agents} != agents:
        return "half a file is in force"
    return ""


async def _show_broken_file(world: AttackWorld, text: str) -> str:
    """Let an editor in a terminal break agents.json; all screens have to be shown, as before."""
    who, path = await log_operator_in(world), world.home / AGENTS
    whole, broken = path.read_text("utf-8"), list[str]()
    try:
        path.write_text(text, "utf-8")
        for screen in _SCREENS:
            answer = await get_page(world, screen, who)
            broken += [screen] if answer.status in _FAULTS else []
            broken += [f"{screen} with a secret"] if BELL_SECRET in answer.body else []
    finally:
        path.write_text(whole, "utf-8")
        await act(world, who, RELOAD)
    return f"not shown: {', '.join(broken)}" if broken else ""


async def _set_keys_at_once(world: AttackWorld) -> str:
    """Store six keys at one time; none may lose another one."""
    who, number = await log_operator_in(world), world.make_order_id().upper()
    names = [f"{number}_{letter}_KEY" for letter in "ABCDEF"]
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(partial(act, world, who, "keys/set", name=name, value=f"v-{name}"))
    text = world.settings.paths.keys.read_text("utf-8")
    for name in names:
        await act(world, who, "keys/remove", name=name)
    lost = [name for name in names if f"{name}=v-{name}\n" not in text]
    return f"{', '.join(lost)} got lost" if lost or KEY not in text else ""


async def _keep_silent(world: AttackWorld, name: str, text: str) -> str:
    """Let a heavy text be checked and saved; the daemon has to answer others meanwhile."""
    who = await log_operator_in(world)
    shown = await open_text(world, who, name)

    async def save() -> None:
        answer = await save_text(world, who, name, text, shown.base)
        if is_done(answer):
            await act(world, who, FILE_SAVE, name=name, base=shown.base)

    return await _measure_silence(world, save)


async def _send_many_changes(world: AttackWorld) -> str:
    """Send an edit of ten thousand changes, and one of a value that is nested deeply."""
    deep: object = "x"
    for _ in range(150):
        deep = [deep]
    change: JsonObject = {"path": ["agents", 0, "systemPrompt"], "value": "x"}
    nested: JsonObject = {"path": ["agents", 0, "systemPrompt"], "value": deep}  # type: ignore[dict-item]
    long: JsonObject = {"path": ["agents", *["a"] * 3000], "value": 1}
    who = await log_operator_in(world)
    base = (await open_text(world, who, AGENTS)).base

    async def send(changes: list[JsonObject]) -> None:
        params: JsonObject = {"name": AGENTS, "base": base, "changes": [*changes]}
        async with open_control_connection(world.settings) as peer:
            try:
                await peer.request(FILE_CHECK, params, timeout=SETTLED_WITHIN)
            except (RpcError, TimeoutError, PeerClosedError):
                return

    silent = [
        await _measure_silence(world, partial(send, changes))
        for changes in ([change] * 10_000, [nested], [long])
    ]
    return "; ".join(filter(None, silent))


async def _measure_silence(world: AttackWorld, work: Callable[[], Awaitable[None]]) -> str:
    """Return for how long the daemon answered no one while something was done, if too long."""
    waited, ended = 0.0, anyio.Event()

    async def ask_often() -> None:
        nonlocal waited
        while not ended.is_set():
            began = monotonic()
            await world.fetch_status()
            waited = max(waited, monotonic() - began)
            await anyio.sleep(POLL)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_often)
        await work()
        ended.set()
    return f"the daemon was silent for {waited:.0f} seconds" if waited > _SILENT else ""


def _shows_both(answer: PageAnswer, mine: str, theirs: str) -> bool:
    return not is_done(answer) and mine in answer.body and theirs in answer.body


ATTACKS = (
    *(
        Attack(
            f"a text is saved through a link to {what}{' that is put there late' if late else ''}",
            defence,
            partial(_save_through, plant=plant, late=late),
        )
        for what, defence, plant in (
            ("a file of the user", _STAY, _link_file),
            ("the keys", _STAY, _link_keys),
            ("nothing", _STAY, _link_nothing),
            ("a file by another name", SEVERAL, _link_hard),
        )
        for late in (False, True)
    ),
    *(
        Attack(
            f"{name} is saved in a linked folder",
            defence,
            partial(_save_in_linked_folder, name=name),
        )
        for name, defence in (
            ("skills/linked/SKILL.md", _STAY),
            ("personas/native/skills/linked/SKILL.md", SEVERAL),
        )
    ),
    *(
        Attack(
            f"a saved agents.json {what}",
            _VALID if what in ("is no JSON", "has no agent") else SEVERAL,
            partial(_keep_out, name=AGENTS, text=text),
        )
        for what, text in _INVALID.items()
    ),
    *(
        Attack(
            f"a saved prompt {what}",
            SEVERAL,
            partial(_keep_out, name="prompts/invalid.yaml", text=text),
        )
        for what, text in _INVALID_PROMPTS.items()
    ),
    Attack("a text is saved over a newer one", _READ, _save_stale_text),
    Attack("a change that was not seen is undone", _UNDO, _undo_unseen_change),
    Attack("a text is saved over that of an editor", _READ, _save_over_editor),
    Attack("four texts are saved at once", _READ, _save_at_once),
    Attack("half of an agents.json is in force", SEVERAL, _save_beside_half_file),
    *(
        Attack(
            f"an agents.json that {what} stops a screen",
            SEVERAL,
            partial(_show_broken_file, text=text),
        )
        for what, text in {
            "is nested deeply": "[" * _DEEP,
            "is one number": "1" * _DEEP,
            "ends in a secret": f'{{"channels": {{"hook": {{"secret": "{BELL_SECRET}',
        }.items()
    ),
    Attack("six keys are stored at once", SEVERAL, _set_keys_at_once),
    *(
        Attack(
            f"a text of {what} stops the daemon",
            SEVERAL,
            partial(_keep_silent, name=name, text=text),
        )
        for what, (name, text) in _HEAVY.items()
    ),
    Attack("an edit of many changes stops the daemon", SEVERAL, _send_many_changes),
)
