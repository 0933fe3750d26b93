"""Attacks by files: a forged archive, and files that every user can change."""

import hashlib
import json
import tarfile
from io import BytesIO
from pathlib import Path

import anyio

from orchestrator.extensions.selftest.attacks.attack_world import Attack, AttackWorld

_MINE = "what the user wrote"


def _forge_archive(path: Path, name: str, leads_to: str) -> None:
    """Write a backup with one link."""
    digest = hashlib.sha256(leads_to.encode()).hexdigest()
    listed = {"version": "1", "made": "now", "format": 1, "files": {name: digest}}
    text = json.dumps(listed).encode()
    link, manifest = tarfile.TarInfo(f"home/{name}"), tarfile.TarInfo("manifest.json")
    link.type, link.linkname, manifest.size = tarfile.SYMTYPE, leads_to, len(text)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(link)
        tar.addfile(manifest, BytesIO(text))


async def _run_command(world: AttackWorld, *arguments: str) -> str:
    """Run a command on a home of its own, and return what the command prints."""
    program = (world.python, "-P", "-m", "orchestrator", *arguments)
    ended = await anyio.run_process(program, env=world.build_environ(), check=False)
    return (ended.stdout + ended.stderr).decode()


async def _restore_link(world: AttackWorld) -> str:
    """Restore an archive whose file of keys is a link to a file of the user."""
    folder = world.outside / world.make_order_id()
    home, victim, archive = folder / "home", folder / "victim", folder / "archive"
    home.mkdir(parents=True)
    victim.write_text(_MINE, "utf-8")
    (home / "keys.env").write_text("OPENAI_API_KEY=sk-of-the-old-home\n", "utf-8")
    (home / "keys.env").chmod(0o600)
    _forge_archive(archive, "keys.env", str(victim))
    await _run_command(world, "restore", str(archive), "--replace", "--home", str(home))
    return "" if victim.read_text("utf-8") == _MINE else "a file of the user was overwritten"


async def _change_configuration(world: AttackWorld) -> str:
    """Make agents.json a file that every user can change, without a word of the check."""
    home = world.outside / world.make_order_id()
    home.mkdir()
    config = home / "agents.json"
    config.write_text('{"agents": [{"agentId": "a", "llmProvider": "demo"}]}', "utf-8")
    config.chmod(0o666)
    told = await _run_command(world, "check", "--home", str(home))
    return "" if f"chmod go-w {config}" in told else "nothing was said about an open agents.json"


ATTACKS = (
    Attack("an archive with a link for the keys", "links of an archive", _restore_link),
    Attack("a configuration that all can change", "open files are named", _change_configuration),
)
