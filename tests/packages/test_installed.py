"""Packages of strangers, installed beside the program: a channel and an extension at work."""

import json
import signal
import subprocess
import sys
import sysconfig
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import pytest
from fakes.loft import TOKEN, open_loft
from fakes.time_limit import LIMIT, time_limit

from orchestrator.testing.loopback import find_free_port

pytestmark = pytest.mark.process
PACKAGES = Path(__file__).parent
DAY, PHASE = "2000-01-21", "full moon"
OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with Pigeon and Almanac, and with all that this one has."""
    folder = tmp_path_factory.mktemp("strangers")
    venv.create(folder / "environment", with_pip=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    theirs = folder / "environment" / "lib" / version / "site-packages"
    ours = sysconfig.get_path("purelib")
    # `addsitedir`, and not the path alone: the program itself is there by a .pth file.
    (theirs / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    found = folder / "environment" / "bin"
    for name in ("pigeon", "almanac"):
        pip = (str(found / "python"), "-m", "pip")
        command = [*pip, "install", *OFFLINE, str(PACKAGES / name)]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    return found


class Home:
    """The program of an environment on a home."""

    def __init__(self, programs: Path, folder: Path, loft: str, **extensions: Any) -> None:
        self._python, self.port = str(programs / "python"), find_free_port()
        self.folder = folder / "home"
        self.folder.mkdir(mode=0o700)
        self._environ = {"PATH": f"{programs}:/usr/bin:/bin", "ORCHESTRATOR_HOME": str(self.folder)}
        config = {
            "agents": [{"agentId": "home", "llmProvider": "demo"}],
            "bindings": [{"channel": "pigeon", "chatId": "*", "agentId": "home"}],
            "channels": {
                "api": {"port": self.port},
                "web": {"port": find_free_port()},
                "pigeon": {"server": loft, "access": "allowlist", "allowlist": ["ann"]},
            },
            "extensions": extensions,
        }
        (self.folder / "agents.json").write_text(json.dumps(config))
        keys = self.folder / "keys.env"
        keys.touch(mode=0o600)
        keys.write_text(f"PIGEON_TOKEN={TOKEN}\n")

    def run(self, *arguments: str) -> str:
        """What a command prints."""
        ended = subprocess.run(
            [self._python, "-m", "orchestrator", *arguments],
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return " ".join(ended.stdout.split())

    def get(self, path: str, token: str) -> httpx.Response:
        """What the daemon's port answers."""
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=LIMIT)

    def open_screen(self, path: str) -> httpx.Response:
        """What the page shows to whoever opens its link."""
        link = self.run("dashboard", "--no-open").split()[0]
        base, _, code = link.replace("orchestrator.localhost", "127.0.0.1").partition("/in#")
        with httpx.Client(base_url=base, timeout=LIMIT) as browser:
            browser.post("/in", data={"code": code}, headers={"origin": base})
            return browser.get(f"/x/{path}")

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[str]]:
        """Run the daemon, ready, and stop it."""
        command = [self._python, "-m", "orchestrator", "run"]
        with subprocess.Popen(
            command, cwd=self.folder, env=self._environ, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            drain = threading.Thread(target=process.stderr.read)
            try:
                seen = []
                for line in process.stderr:
                    seen.append(line)
                    if '"event":"ready"' in line:
                        break
                else:
                    pytest.fail("".join(seen))
                drain.start()
                yield process
                process.send_signal(signal.SIGTERM)
                assert process.wait(LIMIT) == 0
            finally:
                process.kill()
                if drain.ident is not None:
                    drain.join(LIMIT)


async def _ask(question: Any, *arguments: str) -> Any:
    return await anyio.to_thread.run_sync(question, *arguments)


async def test_strangers_answer_in_a_real_daemon(programs: Path, tmp_path: Path) -> None:
    """The channel in its process, the extension in the supervisor, as their settings say.

    The agent calls the tool, and what it tells is in the agent's answer.
    """
    async with open_loft() as loft:
        home = Home(programs, tmp_path, loft.address, almanac={"greeting": "The moon"})
        assert await _ask(home.run, "almanac", DAY) == PHASE
        token = (await _ask(home.run, "api", "token")).split()[0]
        with home.daemon(), time_limit():
            await _until_listening(home)
            loft.post("ann", "ann", "hello")
            assert "hello" in (await loft.until("ann", 1))[0]
            loft.post("ann", "ann", f"ask moon_phase: {DAY}")
            assert PHASE in (await loft.until("ann", 2))[1]
            answer = await _ask(home.get, f"/almanac/{DAY}", token)
            assert answer.json() == {"day": DAY, "phase": PHASE}
            assert (await _ask(home.get, f"/almanac/{DAY}", "wrong")).status_code == 401
            status = await _ask(home.run, "status")
            assert "The moon: " in status
            assert PHASE in (await _ask(home.open_screen, f"moon?from={DAY}")).text


async def test_an_extension_that_is_not_named_does_nothing(programs: Path, tmp_path: Path) -> None:
    """Its command can be called; there is no endpoint, and no hint in `orchestrator status`."""
    async with open_loft() as loft:
        home = Home(programs, tmp_path, loft.address)
        assert await _ask(home.run, "almanac", DAY) == PHASE
        token = (await _ask(home.run, "api", "token")).split()[0]
        with home.daemon(), time_limit():
            await _until_listening(home)
            assert (await _ask(home.get, f"/almanac/{DAY}", token)).status_code == 404
            assert "night" not in await _ask(home.run, "status")


async def _until_listening(home: Home) -> None:
    """Wait until Pigeon hears what is said from now on."""
    while "pigeon ok" not in await _ask(home.run, "status"):
        pass
