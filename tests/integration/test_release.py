"""What is released works where nothing else is installed: the wheel, and the sdist."""

import json
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fakes.small_environment import PROJECT, ROOT, make_environment
from fakes.time_limit import LIMIT

from orchestrator import __version__
from orchestrator.testing.loopback import find_free_port

pytestmark = pytest.mark.process
CONFIG: dict[str, Any] = {
    "agents": [{"agentId": "home", "llmProvider": "demo"}],
    "fallbackAgentId": "home",
    "channels": {"matrix": {"homeserver": "https://m.example", "user": "@bot:m.example"}},
}
LINE = "nio is not installed; run: {folder}/pip install 'orchestrator-daemon[matrix]'"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("released")
    _build(ROOT, folder)
    return folder


def _build(source: Path, folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *options]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=LIMIT)


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_sdist_makes_the_same_wheel(released: Path, tmp_path: Path) -> None:
    """With data, manifests of channels and entry points."""
    (wheel,), (sdist,) = released.glob("*.whl"), released.glob("*.tar.gz")
    assert wheel.name.startswith(f"orchestrator_daemon-{__version__}-")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    _build(source, tmp_path / "again", "-t", "wheel")
    contents = _contents(wheel)
    assert _contents(tmp_path / "again" / wheel.name) == contents
    assert {
        "orchestrator/_data/config/agents.json",
        "orchestrator/_data/skills/orchestrator-guide/SKILL.md",
        "orchestrator/_data/prompts/default-system-prompt.md",
        "orchestrator/extensions/matrix/channel.json",
    } <= contents.keys()
    points = contents[f"orchestrator_daemon-{__version__}.dist-info/entry_points.txt"].decode()
    named = PROJECT["entry-points"]["orchestrator.extensions"]
    assert all(f"\n{name} = {value}\n" in points for name, value in named.items())


class Installed:
    """The program in an environment of its own, on a home of its own."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.programs, self.home = programs, home
        self._environ = {"PATH": f"{programs}:/usr/bin:/bin", "ORCHESTRATOR_HOME": str(home)}

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints."""
        ended = subprocess.run(
            [self.programs / "orchestrator", *arguments],
            cwd=self.home,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ended.returncode == code, ended.stderr
        return ended.stdout + ended.stderr

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """Run the daemon, ready, and stop it."""
        command = [str(self.programs / "orchestrator"), "run"]
        with subprocess.Popen(
            command, cwd=self.home, env=self._environ, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            try:
                ready = any('"event":"ready"' in line for line in process.stderr)
                assert ready
                yield
                process.send_signal(signal.SIGTERM)
                assert process.wait(LIMIT) == 0
            finally:
                process.kill()


@pytest.fixture(params=["*.whl", "*.tar.gz"], ids=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, released: Path, tmp_path: Path) -> Installed:
    """What is released, installed by pip without network."""
    (file,) = released.glob(request.param)
    programs = make_environment(tmp_path / "environment")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    command = [str(programs / "python"), "-m", "pip", "install", *offline, str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Installed(programs, home)


@pytest.mark.long
@pytest.mark.thorough(part="release")
def test_release_answers_and_shows_manual_and_page(installed: Installed) -> None:
    """What an extra would bring is named with the line to type; the rest runs."""
    port = find_free_port()
    config = {**CONFIG, "channels": {**CONFIG["channels"], "web": {"port": port}}}
    (installed.home / "agents.json").write_text(json.dumps(config))
    line = LINE.format(folder=installed.programs)
    assert installed.run("--version").strip().endswith(__version__)
    assert line in installed.run("check")
    assert "channels" in installed.run("help")
    assert "# Chat systems" in installed.run("help", "channels")
    with installed.daemon():
        assert installed.run("send", "home", "What time is it?").strip()
        assert line in " ".join(installed.run("status").split())
        assert line in " ".join(installed.run("doctor", code=1).split())
        address, _, code = installed.run("dashboard").split()[0].partition("/in#")
        base = address.replace("orchestrator.localhost", "127.0.0.1")
        with httpx.Client(base_url=base, timeout=LIMIT) as browser:
            entered = browser.post("/in", data={"code": code}, headers={"origin": base})
            assert entered.status_code == 303
            assert "Agents" in browser.get("/").text
