"""Attacks on what the page can change: by people without the right, by names, by numbers."""

import json
from functools import partial

from orchestrator.control import protocol
from orchestrator.control.editing import FILE_SAVE, FILE_UNDO
from orchestrator.extensions.page.daemon_side.page_protocol import DASHBOARD_INVITE, Role
from orchestrator.extensions.selftest.attacks.attack_world import (
    BELL_SECRET,
    KEY,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.page_forms import DESK
from orchestrator.extensions.selftest.attacks.posted_texts import (
    AGENTS,
    act,
    build_fields,
    is_done,
    list_changed,
    log_operator_in,
    open_text,
    read_files,
    replace_text,
    save_text,
    send_save,
)
from orchestrator.extensions.selftest.attacks.raw_page import (
    PageLogin,
    count_effects,
    get_page,
    log_in,
    post_form,
    revoke_sessions,
)

_FIELDS = "rights depend on the fields that count"
_SUM = "a budget grows by a sum of money"
_LESSER: tuple[Role | None, ...] = ("viewer", "chat", "approver", None)
_SCREENS = (
    *("/texts", "/texts/{name}", "/texts/{name}/history", "/texts/{name}/history?version=1"),
    *("/texts/agents.json", "/settings", "/settings/form?at=agents/0", "/texts-new/prompts/"),
    *("/keys", "/people", "/memory", "/texts/tasks/1", "/texts/playbooks/1"),
    *("/try?file={name}", "/trials", "/sets"),
)
# An approver lets chats in to talk or to approve; these fields ask for more.
_TWINS = {
    "a role twice": {"role": "operate", "Role": "talk"},
    "a role by a name that does not count": {"Role": "talk"},
    "a role with an underscore": {"_role": "talk"},
    "no role": {},
    "an empty role": {"role": ""},
    "an agent twice": {"role": "talk", "agentId": "native", "agent_id": ""},
    "an agent by its other name": {"role": "talk", "agent_id": "native"},
    "an agent thrice": {"role": "talk", "agentId": "native", "Agent_id": "", "agent_Id": ""},
}
_NAMES = (
    *("../outside/attacked.md", "prompts/../../outside/attacked.md", "prompts/../keys.env"),
    *("prompts/..%2fkeys.env", "prompts/%2e%2e/keys.env", "prompts/x.md/../../keys.env"),
    *("/etc/attacked.md", "//prompts/attacked.md", "prompts//attacked.md", "./prompts/a.md"),
    *("keys.env", "prompts/keys.env", "history/agents.json/1", "hooks/probe.py", "journal.db"),
    *("prompts/attacked.md\0.yaml", "prompts/a\nb.md", "prompts/.attacked.md", "prompts/a.md "),
    *("prompts\\attacked.md", "prompts\uff0fattacked.md", "prompts/\u0430ttacked.md"),
    *("AGENTS.JSON", "agents.json/", "agents.json\n", "agents.json\0", "agents.jsonl"),
    *("skills/../../outside/SKILL.md", "skills//SKILL.md", "skills/./SKILL.md", "skills/a/b.py"),
    *("personas/../instructions.md", "personas/native/../../x/instructions.md", "personas//x"),
    *("tasks/1٢", "tasks/-1", "tasks/1e3", "playbooks/٣", "tasks/99999999999999999999"),
    f"prompts/{'a' * 400}.md",
    f"prompts/{'../' * 60}tmp/attacked.md",
)
_NUMBERS = ("0", "-1", "999999", f"{10**30}", "1.5", "../1", "nan", "٣", "9" * 5000)
_SUMS = ("-1", "0", "-0.0", "nan", "inf", "-inf", "1e308", "1e999", "", "1,5", "0x10", "1001")


async def _log_lesser_in(world: AttackWorld, role: Role | None) -> PageLogin:
    """Return a login of a role; without a role, one that no one has."""
    return PageLogin("operator", "ab" * 32) if role is None else await log_in(world, role)


async def _read_texts(world: AttackWorld, role: Role | None) -> str:
    """Look for an operator's text on every screen that has texts, and in answers to checks."""
    secret, name = f"SECRET{world.make_order_id()}", f"prompts/{world.make_order_id()}.md"
    owner, who = await log_operator_in(world), await _log_lesser_in(world, role)
    await replace_text(world, owner, name, f"{secret} attacked")
    shown = await open_text(world, owner, name)
    if secret not in shown.text:
        raise RuntimeError("the operator's text was not saved")
    reached = []
    for screen in _SCREENS:
        path = screen.format(name=name)
        body = (await get_page(world, path, who)).body
        fields = build_fields(world, who, base=shown.base, text=secret[:-1], do="check")
        body += (await post_form(world, path, fields, who)).body
        reached += [path] if secret in body or "native" in body else []
    return f"texts are shown on {', '.join(reached)}" if reached else ""


async def _save_texts(world: AttackWorld, role: Role | None) -> str:
    """Save, remove, undo and rename texts with all that it takes but the right."""
    owner, who = await log_operator_in(world), await _log_lesser_in(world, role)
    name = f"prompts/{world.make_order_id()}.md"
    for text in ("first", "second"):
        await replace_text(world, owner, name, text)
    shown, agents = await open_text(world, owner, name), await open_text(world, owner, AGENTS)
    before, effects = read_files(world), count_effects(world)
    await save_text(world, who, name, "attacked", shown.base)
    await send_save(world, who, name, "attacked", shown.base)
    await act(world, who, FILE_SAVE, name=name, base=shown.base)
    await act(world, who, FILE_UNDO, name=name)
    await act(world, who, FILE_UNDO, name=name, number="1")
    await act(world, who, FILE_UNDO)
    program = '"mcpServers": {"evil": {"command": "/bin/true"}, '
    text = agents.text.replace('"mcpServers": {', program)
    await save_text(world, who, AGENTS, text, agents.base)
    await send_save(world, who, AGENTS, text, agents.base)
    changed = list_changed(world, before)
    acted = "" if count_effects(world) == effects else "an act was accepted"
    return changed or acted


async def _save_after_revocation(world: AttackWorld) -> str:
    """Save what was opened in time with a session that has ended since."""
    who = await log_in(world, "operator", user=f"gone-{world.make_order_id()}")
    name = f"prompts/{world.make_order_id()}.md"
    await replace_text(world, who, name, "mine")
    shown = await open_text(world, who, name)
    await revoke_sessions(world, who.user)
    before = read_files(world)
    await save_text(world, who, name, "attacked", shown.base)
    await send_save(world, who, name, "attacked", shown.base)
    await act(world, who, FILE_UNDO, name=name)
    return list_changed(world, before)


async def _admit_operator(world: AttackWorld, fields: dict[str, str]) -> str:
    """Let a chat in as an approver, in a role or to an agent that only an operator may choose."""
    who, before = await log_in(world, "approver"), count_effects(world)
    answer = await act(world, who, protocol.PAIR_APPROVE, code="ABCDEFGH", **fields)
    accepted = is_done(answer) or count_effects(world) != before
    return "an approver asked for more than an approver may" if accepted else ""


async def _edit_by_name(world: AttackWorld, name: str) -> str:
    """Read, save, remove and undo a text under a name that no text has."""
    who, before = await log_operator_in(world), read_files(world)
    shown = await open_text(world, who, name)
    history = await get_page(world, f"{_quote_all(name)}/history?version=1", who)
    for answer in (shown.answer, history, await get_page(world, _quote_all(name), who)):
        if KEY in answer.body or BELL_SECRET in answer.body:
            return f"{name} shows a secret"
    for base in {"", shown.base}:
        await save_text(world, who, name, "attacked", base)
        await send_save(world, who, name, "attacked", base)
        await act(world, who, FILE_SAVE, name=name, base=base)
    await act(world, who, FILE_UNDO, name=name)
    await act(world, who, FILE_UNDO, name=name, number="1")
    return list_changed(world, before)


async def _go_back_to(world: AttackWorld, number: str) -> str:
    """Go back to a version that there is not."""
    who, name = await log_operator_in(world), f"prompts/{world.make_order_id()}.md"
    for text in ("first", "second"):
        await replace_text(world, who, name, text)
    before = read_files(world)
    answer = await act(world, who, FILE_UNDO, name=name, number=number)
    await get_page(world, f"/texts/{name}/history?version={number[:100]}", who)
    broke = "the page failed" if answer.status >= 500 else ""  # noqa: PLR2004 - a fault
    return list_changed(world, before) or broke


async def _extend_budget(world: AttackWorld, usd: str) -> str:
    """Let an agent spend a sum that is no sum."""
    who = await log_operator_in(world)
    answer = await act(world, who, "budget/extend", agentId="described", usd=usd)
    if "no limit in dollars" in answer.body:
        raise RuntimeError("the agent has no budget")
    return f"the budget grew by {usd}" if is_done(answer) else ""


async def _invite_in_role(world: AttackWorld, role: str) -> str:
    """Invite a guest in a role that there is not."""
    who = await log_operator_in(world)
    answer = await act(world, who, DASHBOARD_INVITE, user="guest", role=role)
    return f"a guest is {role!r}" if is_done(answer) else ""


def _quote_all(name: str) -> str:
    return "/texts/" + "".join(f"%{byte:02x}" for byte in name.encode())


ATTACKS = (
    *(
        Attack(f"{role or 'no one'} reads texts", SEVERAL, partial(_read_texts, role=role))
        for role in _LESSER
    ),
    *(
        Attack(
            f"{role or 'no one'} changes texts",
            DESK if role else SEVERAL,
            partial(_save_texts, role=role),
        )
        for role in _LESSER
    ),
    Attack("an ended session saves a text", SEVERAL, _save_after_revocation),
    *(
        Attack(
            f"an approver lets a chat in with {name}",
            _FIELDS if "Role" in fields else SEVERAL,
            partial(_admit_operator, fields=fields),
        )
        for name, fields in _TWINS.items()
    ),
    *(
        Attack(
            f"a text is named {json.dumps(name)[:60]}", SEVERAL, partial(_edit_by_name, name=name)
        )
        for name in _NAMES
    ),
    *(
        Attack(
            f"a text goes back to version {number[:20]}",
            SEVERAL,
            partial(_go_back_to, number=number),
        )
        for number in _NUMBERS
    ),
    *(
        Attack(
            f"a budget grows by {usd!r}",
            _SUM if usd in ("-1", "nan") else SEVERAL,
            partial(_extend_budget, usd=usd),
        )
        for usd in _SUMS
    ),
    *(
        Attack(f"a guest has the role {role!r}", SEVERAL, partial(_invite_in_role, role=role))
        for role in ("admin", "Operator", "operator ", "viewer,operator", "")
    ),
)
