"""Skills with scripts, as public collections have them, do their work through the whole daemon."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon

from orchestrator.extensions.workspace import system_folders
from orchestrator.home_paths import Paths, name_scope_folder
from thinker.jail import landlock

pytestmark = [
    pytest.mark.thorough(part="tools"),
    pytest.mark.process,
    pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="needs Landlock 6"),
]
# A module beside the script, a folder for temporary files, an archive, and modes.
PACK = """#!/usr/bin/env python3
import sys, tempfile, zipfile
from pathlib import Path
from checks import titles
target = Path(sys.argv[2])
with tempfile.TemporaryDirectory() as folder:
    index = Path(folder, "index.txt")
    index.write_text("\\n".join(titles(sys.argv[1])))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(index, "index.txt")
target.chmod(0o755)
print("packed", target.name)
"""
CHECKS = """def titles(path):
    return [line[2:].strip() for line in open(path) if line.startswith("# ")]
"""
# Temporary files of several kinds, a large document in the script, and the usual programs.
COUNT = """#!/usr/bin/env bash
set -euo pipefail
words=$(mktemp)
trap 'rm -f "$words"' EXIT
seq 1 200000 | sort --buffer-size=1M --reverse > "$words"
cat <<END | awk '{ n += 1 } END { print "lines", n }'
$(head -n 30000 "$words")
END
tar czf "$1" -C "$(dirname "$words")" "$(basename "$words")"
"""
NODE = """#!/usr/bin/env node
const fs = require('fs'), os = require('os'), path = require('path')
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'draw-'))
fs.writeFileSync(path.join(folder, 'a.svg'), '<svg/>')
fs.copyFileSync(path.join(folder, 'a.svg'), process.argv[2])
console.log('drawn with', require('./palette.json').name)
"""
FILES = {
    "pack/reference.md": "Call it with a page and a target.\n",
    "pack/scripts/pack.py": PACK,
    "pack/scripts/checks.py": CHECKS,
    "count/scripts/count.sh": COUNT,
    "draw/scripts/draw.js": NODE,
    "draw/scripts/palette.json": '{"name": "blue"}',
}


def workspace_of_chat(home: Path) -> Path:
    """The folder of the agent work in a stranger's Telegram chat 1."""
    return Paths(home).find_chat_workspaces("work") / name_scope_folder("telegram:1")


def copy_skills(home: Path) -> Path:
    """Skills as someone copies them, with a script that is not executable; their folder."""
    folder = home / "skills"
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o644 if file.name == "count.sh" else 0o755)
        name = path.partition("/")[0]
        front = f"---\nname: {name}\ndescription: Does it. Use when asked.\nlicense: MIT\n---\n"
        (folder / name / "SKILL.md").write_text(f"{front}Run the script.\n", "utf-8")
    return folder


async def test_scripts_run_from_their_folder_and_from_the_workspace(tmp_path: Path) -> None:
    """By every path that a SKILL.md may mean; what they write is in the workspace."""
    skills, home = copy_skills(tmp_path), workspace_of_chat(tmp_path)
    before = sorted(skills.rglob("*"))
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}, workspace=True), bot) as daemon,
    ):
        await daemon.until(lambda report: report.tool_servers[0].state == "connected")

        async def call(tool: str, **arguments: str) -> str:
            bot.send_user_message(1, f"!{tool} {json.dumps(arguments)}")
            return await bot.reply_in(1)

        told = await call("read_skill", name="pack")
        assert f"The folder of this skill is {skills / 'pack'}" in told
        for path in (f"{skills}/pack/reference.md", ".claude/skills/pack/reference.md"):
            assert "Call it with a page" in await call("read_file", path=path)
        await call("write_file", path="page.md", content="# One\ntext\n# Two\n")
        for number, command in enumerate(
            (
                f"{skills}/pack/scripts/pack.py page.md 0.zip",
                ".claude/skills/pack/scripts/pack.py page.md 1.zip",
                f"cd {skills}/pack && python3 scripts/pack.py ~/page.md $HOME/2.zip",
                "python ~/.claude/skills/pack/scripts/pack.py page.md 3.zip",
            )
        ):
            assert f"packed {number}.zip" in await call("run_command", command=command)
            with zipfile.ZipFile(home / f"{number}.zip") as archive:
                assert archive.read("index.txt") == b"One\nTwo"
        told = await call("run_command", command=f"{skills}/count/scripts/count.sh words.tgz")
        assert "begin a script that is not executable with bash" in told
        told = await call("run_command", command=f"bash {skills}/count/scripts/count.sh words.tgz")
        assert "lines 30000" in told
        if shutil.which("node", path=":".join(system_folders.SEARCH_PATH)):
            script = ".claude/skills/draw/scripts/draw.js"
            assert "drawn with blue" in await call("run_command", command=f"{script} a.svg")
        told = await call(
            "run_command", command="python3 scripts/pack.py ~/page.md 4.zip", cwd=f"{skills}/pack"
        )
        assert "the folders of skills are read-only" in told
        told = await call("run_command", command="echo x > /tmp/skill-scripts.txt")
        assert "commands have no /tmp" in told
    assert sorted(skills.rglob("*")) == before


async def test_python_of_commands_is_not_the_daemons(tmp_path: Path) -> None:
    """Both names are one program, with the packages that the operator gave the workspace."""
    home = workspace_of_chat(tmp_path)
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}, workspace=True), bot) as daemon,
    ):
        await daemon.until(lambda report: report.tool_servers[0].state == "connected")

        async def shell(command: str) -> str:
            bot.send_user_message(1, f"!run_command {json.dumps({'command': command})}")
            return await bot.reply_in(1)

        show = "-c 'import sys; print(sys.version, sys.prefix)'"
        told = await shell(f'[ "$(python {show})" = "$(python3 {show})" ] && echo the same')
        assert "the same" in told
        assert "No module named" in await shell("python -c 'import orchestrator'")
        told = await shell("python3 -m venv --without-pip ~/.local && python3 " + show)
        assert str(home / ".local") in told
        assert str(home / ".local") in await shell(f"python {show}")
