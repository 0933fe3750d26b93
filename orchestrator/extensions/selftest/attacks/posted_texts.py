"""Edit texts on the attacked page as a browser does, and look at the files that are there then."""

import re
from collections.abc import Mapping
from html import unescape
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

from orchestrator.control.editing import FILE_SAVE
from orchestrator.extensions.selftest.attacks.attack_world import AttackWorld
from orchestrator.extensions.selftest.attacks.hostile_server import MAILS, PAGES
from orchestrator.extensions.selftest.attacks.raw_page import (
    PageAnswer,
    PageLogin,
    build_path,
    get_page,
    log_in,
    post_form,
)

AGENTS = "agents.json"
_EDITED = (AGENTS, "keys.env", "prompts", "skills", "personas", "hooks")
_CHANGING = (MAILS, PAGES)  # by other attacks
_BASE = re.compile(r'name="base" value="([0-9a-f]*)"')
_AREA = re.compile(r"<textarea[^>]*>\n(.*?)</textarea>", re.DOTALL)


class ShownText(NamedTuple):
    """The editor of a text: ``base`` is the digest that a save needs."""

    answer: PageAnswer
    base: str
    text: str


async def log_operator_in(world: AttackWorld) -> PageLogin:
    """Return a login of the operator."""
    return await log_in(world, "operator", user="operator")


def build_fields(world: AttackWorld, who: PageLogin, **fields: str) -> dict[str, str]:
    """Return fields of a form of this login."""
    return {"csrf": who.csrf, "once": f"attack-{world.make_order_id():0>8}", **fields}


async def open_text(world: AttackWorld, who: PageLogin, name: str) -> ShownText:
    """Open a text in the editor."""
    answer = await get_page(world, build_address(name), who)
    base, area = _BASE.search(answer.body), _AREA.search(answer.body)
    text = unescape(area[1]) if area else ""
    return ShownText(answer, base[1] if base else "", text)


async def save_text(
    world: AttackWorld, who: PageLogin, name: str, text: str, base: str
) -> PageAnswer:
    """Save a text on its own screen, as it works without JavaScript."""
    fields = build_fields(world, who, base=base, text=text, do="save")
    return await post_form(world, build_address(name), fields, who)


async def replace_text(world: AttackWorld, who: PageLogin, name: str, text: str) -> PageAnswer:
    """Save a text in place of the one that is there."""
    shown = await open_text(world, who, name)
    return await save_text(world, who, name, text, shown.base)


async def act(world: AttackWorld, who: PageLogin, method: str, **fields: str) -> PageAnswer:
    """Send the form of a method."""
    return await post_form(world, build_path(method), build_fields(world, who, **fields), who)


async def send_save(
    world: AttackWorld, who: PageLogin, name: str, text: str, base: str
) -> PageAnswer:
    """Save a text by the method itself, which asks for less than the screen."""
    return await act(world, who, FILE_SAVE, name=name, text=text, base=base)


def build_address(name: str) -> str:
    return f"/texts/{quote(name)}"


def is_done(answer: PageAnswer) -> bool:
    """Return whether a form had its effect."""
    return answer.status == HTTPStatus.SEE_OTHER


def read_files(world: AttackWorld) -> Mapping[str, bytes]:
    """Return what can be edited, and all that lies beside the home; links are not followed."""
    roots = [*(world.home / name for name in _EDITED), world.outside, world.folder / "user"]
    paths = [path for root in roots for path in (root, *sorted(root.rglob("*")))]
    found = {}
    for path in paths:
        if path.is_symlink():
            found[str(path)] = str(path.readlink()).encode()
        elif path.is_file() and path.name not in _CHANGING:
            found[str(path)] = path.read_bytes()
    return found


def list_changed(world: AttackWorld, before: Mapping[str, bytes]) -> str:
    """Return the names of files that are others than before."""
    after = read_files(world)
    names = {*before, *after}
    return ", ".join(sorted(name for name in names if before.get(name) != after.get(name)))
