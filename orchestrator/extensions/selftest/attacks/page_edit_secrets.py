"""Attacks on secrets by what the page can edit: no answer, version or log has one."""

import json
import re
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import anyio
from anyio.abc import SocketAttribute, SocketStream

from orchestrator import keys_file
from orchestrator.control.editing import FILE_SAVE, FILE_UNDO
from orchestrator.extensions.selftest.attacks.attack_world import (
    BELL_SECRET,
    KEY,
    SEVERAL,
    Attack,
    AttackWorld,
)
from orchestrator.extensions.selftest.attacks.inert_html import InertHtml
from orchestrator.extensions.selftest.attacks.posted_texts import (
    AGENTS,
    act,
    build_address,
    build_fields,
    list_changed,
    log_operator_in,
    open_text,
    read_files,
    replace_text,
    save_text,
    send_save,
)
from orchestrator.extensions.selftest.attacks.raw_page import get_page, post_form

_MASKED = "texts are shown without their secrets"
_FIELD = "a secret stays where secrets belong"
_NAMED = "a key has the name of a key"
_OTHERS = "keys are no settings of programs"
_AUDIT = "the audit log has no tokens"
_MARK = re.compile(r"\[kept secret: [^\]]*bell[^\]]*\]")
_SCREENS = (
    *("/", "/texts", "/settings", "/settings/form?at=channels/hook", "/settings/form?at=agents/0"),
    *("/keys", "/logs", "/machine", "/tools"),
)
_KEY_NAMES = {
    "A=B\nANTHROPIC_API_KEY": _NAMED,
    "ATTACKED_KEY\nANTHROPIC_API_KEY": _NAMED,
    "ATTACKED KEY": _NAMED,
    "export ATTACKED_KEY": _NAMED,
    "#ATTACKED_KEY": SEVERAL,
    "": SEVERAL,
    "=": SEVERAL,
    "\u0410TTACKED_KEY": SEVERAL,
    "ATTACKED_KEY\0": SEVERAL,
    "1ATTACKED": SEVERAL,
    "A" * 5000: SEVERAL,
    "PATH": SEVERAL,  # the environment has it
    "LD_PRELOAD": _OTHERS,
    "PYTHONPATH": _OTHERS,
    "python_startup": SEVERAL,
    "ORCHESTRATOR_HOME": SEVERAL,
    "TELEGRAM_BOT_TOKEN": SEVERAL,
}
_VALUES = (
    *("a\nANTHROPIC_API_KEY=b", "a\rANTHROPIC_API_KEY=b", "a\x85B=c", "a\u2028B=c", "a\0b"),
    *("a\x1b[31m", "a\u202eb", "", " ", "\n", "x" * 9000),
)
_ODD_VALUES = ("'", "\\'", "\\", "a'\\", '"a" #b', "${ANTHROPIC_API_KEY}", "$(id)", "`id`", "a b=c")
_TAGS = '<script>alert(1)</script><img src=x onerror="alert(1)">"></textarea><b style="x">\u202e'


async def _look_everywhere(world: AttackWorld, secrets: tuple[str, ...], *names: str) -> str:
    """Look for secrets on all screens, and in versions, the journal and the log."""
    who, places = await log_operator_in(world), []
    paths = [build_address(name) for name in names]
    paths += [f"{build_address(name)}/history" for name in names]
    paths += [f"{build_address(name)}/history?version={n}" for name in names for n in (1, 2)]
    for path in (*paths, *_SCREENS):
        body = (await get_page(world, path, who)).body
        places += [path] if any(secret in body for secret in secrets) else []
    files = [world.folder / "log", world.settings.paths.journal]
    files += [path for path in world.settings.paths.history.rglob("*") if path.is_file()]
    files += [path.with_name(f"{path.name}-wal") for path in files[1:2]]
    for file in files:
        data = file.read_bytes() if file.exists() else b""
        places += [file.name] if any(secret.encode() in data for secret in secrets) else []
    return f"a secret is in {', '.join(places[:5])}" if places else ""


async def _show_webhook_secret(world: AttackWorld) -> str:
    """Look for the secret of a webhook after agents.json was edited and undone."""
    who = await log_operator_in(world)
    shown = await open_text(world, who, AGENTS)
    answers = [
        shown.answer,
        await save_text(world, who, AGENTS, shown.text + "\n", shown.base),
        await save_text(world, who, AGENTS, shown.text, shown.base),  # a conflict
        await save_text(world, who, AGENTS, shown.text.replace('"agents"', '"agent"'), ""),
        await act(world, who, FILE_UNDO, name=AGENTS),
    ]
    if BELL_SECRET in "".join(answer.body for answer in answers):
        return "an answer has it"
    if BELL_SECRET not in (world.home / AGENTS).read_text("utf-8"):
        return "the file has lost it"
    return await _look_everywhere(world, (BELL_SECRET, KEY), AGENTS)


async def _move_secret(world: AttackWorld) -> str:
    """Move the mark of a secret to where the secret would be sent to a model."""
    who = await log_operator_in(world)
    shown, before = await open_text(world, who, AGENTS), read_files(world)
    mark = _MARK.search(shown.text)
    if mark is None:
        raise RuntimeError("the secret has no mark")
    moved = shown.text.replace("You are native.", f"You are {mark[0]}")
    answers = [
        await save_text(world, who, AGENTS, moved, shown.base),
        await send_save(world, who, AGENTS, moved, shown.base),
    ]
    shows = any(BELL_SECRET in answer.body for answer in answers)
    changed = list_changed(world, before)
    if changed:
        now = await open_text(world, who, AGENTS)
        await save_text(world, who, AGENTS, shown.text, now.base)
    return "an answer has it" if shows else changed


async def _write_token(world: AttackWorld) -> str:
    """Write a token into a prompt, change and undo it; look for the token."""
    who, number = await log_operator_in(world), world.make_order_id()
    token, name = f"sk-proj-{number:0>24}", f"prompts/{number}.md"
    await replace_text(world, who, name, f"Use {token} there")
    shown = await open_text(world, who, name)
    await save_text(world, who, name, shown.text + " and here", shown.base)
    await act(world, who, FILE_UNDO, name=name)
    if token not in (world.home / name).read_text("utf-8"):
        return "the text has lost it"
    return await _look_everywhere(world, (token,), name)


async def _write_secret_setting(world: AttackWorld) -> str:
    """Give a server a password that looks like a word; look for it."""
    who, number = await log_operator_in(world), world.make_order_id()
    password, original = f"walrus{number}", await open_text(world, who, AGENTS)
    server = f'"{number}": {{"command": "true", "enabled": false, "env": {{"A": "{password}"}}}}, '
    text = original.text.replace('"mcpServers": {', f'"mcpServers": {{{server}', 1)
    answers = [
        await save_text(world, who, AGENTS, text.replace(f'"{password}"', f'["{password}"]'), ""),
        await save_text(world, who, AGENTS, text, original.base),
        await replace_text(world, who, AGENTS, original.text),
    ]
    del answers[0]  # what is sent back is what was written
    shown = any(password in answer.body for answer in answers)
    found = await _look_everywhere(world, (password,), AGENTS)
    return "an answer has it" if shown else found


async def _name_key(world: AttackWorld, name: str) -> str:
    """Store a key under a name that no key has."""
    who, before = await log_operator_in(world), world.settings.paths.keys.read_bytes()
    await act(world, who, "keys/set", name=name, value="attacked")
    await act(world, who, "keys/set", name=f" {name} ", value="attacked")
    after = world.settings.paths.keys.read_bytes()
    if before != after:
        world.settings.paths.keys.write_bytes(before)
    return "" if before == after else "keys.env was changed"


async def _store_value(world: AttackWorld, value: str) -> str:
    """Store a value that is more than a line, or none at all."""
    who, before = await log_operator_in(world), world.settings.paths.keys.read_bytes()
    answer = await act(world, who, "keys/set", name="ATTACKED_KEY", value=value)
    after = world.settings.paths.keys.read_bytes()
    if before != after:
        world.settings.paths.keys.write_bytes(before)
        return "keys.env was changed"
    told = value.strip() and len(value) < HTTPStatus.BAD_REQUEST and value in answer.body
    return "the answer repeats it" if told and len(value) > 1 else ""


async def _keep_value(world: AttackWorld, value: str) -> str:
    """Store a value with signs that a shell would obey; it has to stay one value of one key."""
    who, path = await log_operator_in(world), world.settings.paths.keys
    before = path.read_text("utf-8")
    await act(world, who, "keys/set", name="ATTACKED_KEY", value=value)
    found = keys_file.read_keys(world.home, {}).values
    await act(world, who, "keys/remove", name="ATTACKED_KEY")
    wrong = dict(found) != {"ANTHROPIC_API_KEY": KEY, "ATTACKED_KEY": value}
    if path.read_text("utf-8") != before:
        path.write_text(before, "utf-8")
        return "keys.env has changed"
    return f"keys.env has {sorted(found)}" if wrong else ""


async def _list_keys(world: AttackWorld) -> str:
    """Store, replace and remove a key, and look for its values."""
    who, number = await log_operator_in(world), world.make_order_id()
    values = (f"walrus-{number}-a", f"walrus-{number}-b")
    bodies = ""
    for value in values:
        bodies += (await act(world, who, "keys/set", name="ATTACKED_KEY", value=value)).body
        bodies += (await get_page(world, "/keys", who)).body
    bodies += (await act(world, who, "keys/remove", name="ATTACKED_KEY")).body
    if any(value in bodies for value in values):
        return "an answer has it"
    return await _look_everywhere(world, values, AGENTS)


async def _paste_token(world: AttackWorld, method: str, field: str) -> str:
    """Paste a token into a field that is audited."""
    who, number = await log_operator_in(world), world.make_order_id()
    token = f"sk-proj-{number:0>24}"
    await act(world, who, method, **{"name": "x", "value": "y", "token": "x", field: token})
    rows = world.query_rows("SELECT 1 FROM audit WHERE instr(object, ?)", token)
    return "the audit log has it" if rows else await _look_everywhere(world, (token,))


async def _try_wrong_key(world: AttackWorld) -> str:
    """Try a key that the provider does not take: nothing of it may stay."""
    who, number, before = await log_operator_in(world), world.make_order_id(), read_files(world)
    key = f"walrus-{number}"
    base = "http://127.0.0.1:9/v1"
    fields = {"agentId": "native", "provider": "openai", "baseUrl": base, "key": key}
    bot = {"token": f"12345678:{key}", "do": "bot"}
    answers = [
        await act(world, who, "setup/model", **fields),
        await act(world, who, "setup/bot", **bot),
        await post_form(world, "/setup", build_fields(world, who, do="model", **fields), who),
        await post_form(world, "/setup", build_fields(world, who, **bot), who),
    ]
    changed = list_changed(world, before)
    shown = "an answer has it" if any(key in answer.body for answer in answers) else ""
    return changed or shown or await _look_everywhere(world, (key,), AGENTS)


async def _send_key_away(world: AttackWorld) -> str:
    """Set a provider up at an address of the attacker, to be sent the key of the real one."""
    who, before, heard = await log_operator_in(world), read_files(world), b""

    async def hear(stream: SocketStream) -> None:
        nonlocal heard
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                heard += await stream.receive()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, hear)
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - no query
        url = f"http://127.0.0.1:{port}"
        for provider in ("anthropic", url, "openai"):
            fields = {"agentId": "handed", "provider": provider, "baseUrl": url, "key": ""}
            await act(world, who, "setup/model", **fields)
        tasks.cancel_scope.cancel()
    return "it was sent" if KEY.encode() in heard else list_changed(world, before)


async def _plant_tags(world: AttackWorld) -> str:
    """Put markup into everything of a text that is shown: itself, its reason, its history."""
    who, number = await log_operator_in(world), world.make_order_id()
    name = f"prompts/{number}.md"
    for text in (_TAGS, f"{_TAGS}\n{_TAGS}"):
        shown = await open_text(world, who, name)
        fields = {"name": name, "base": shown.base, "text": text, "why": _TAGS}
        await act(world, who, FILE_SAVE, **fields)
    paths = [build_address(name), f"{build_address(name)}/history", "/texts", "/"]
    paths += [f"{build_address(name)}/history?version={n}" for n in range(1, 4)]
    paths += [build_address(f"prompts/{_TAGS}.md"), f"/settings/form?at={_TAGS[:20]}", "/keys"]
    pages = {path: await get_page(world, path, who) for path in paths if path.isprintable()}
    stale = build_fields(world, who, base="x", text=_TAGS, why=_TAGS, do="save")
    pages["a conflict"] = await post_form(world, build_address(name), stale, who)
    wrong = build_fields(world, who, base="x", text=f"{{{_TAGS}", why=_TAGS, do="check")
    pages["an error"] = await post_form(world, build_address(AGENTS), wrong, who)
    harm = [f"{path}: {one}" for path, page in pages.items() for one in _find_harm(page.body)]
    return "; ".join(harm[:5])


def _find_harm(body: str) -> list[str]:
    """Return what acts; what is edited is shown as it is, so it may hold what cannot be seen."""
    return [harm for harm in InertHtml(body).harm if not harm.startswith("U+")]


ATTACKS = (
    Attack("a webhook's secret is shown by the editor", _MASKED, _show_webhook_secret),
    Attack("a secret is moved to a prompt", _FIELD, _move_secret),
    Attack("a token in a prompt is shown", _MASKED, _write_token),
    Attack("a password of a server is shown", SEVERAL, _write_secret_setting),
    *(
        Attack(f"a key is named {json.dumps(name)[:40]}", defence, partial(_name_key, name=name))
        for name, defence in _KEY_NAMES.items()
    ),
    *(
        Attack(f"a key is {json.dumps(value)[:40]}", SEVERAL, partial(_store_value, value=value))
        for value in _VALUES
    ),
    *(
        Attack(f"a key has {json.dumps(value)}", SEVERAL, partial(_keep_value, value=value))
        for value in _ODD_VALUES
    ),
    Attack("a stored key is shown", SEVERAL, _list_keys),
    *(
        Attack(
            f"a token is pasted into {field} of {method}",
            _AUDIT,
            partial(_paste_token, method=method, field=field),
        )
        for method, field in (
            ("keys/set", "name"),
            ("setup/bot", "account"),
            ("setup/model", "model"),
            ("pair/approve", "code"),
        )
    ),
    Attack("a wrong key is kept", SEVERAL, _try_wrong_key),
    Attack("a key is sent to another address", SEVERAL, _send_key_away),
    Attack("markup of an edited text acts", SEVERAL, _plant_tags),
)
