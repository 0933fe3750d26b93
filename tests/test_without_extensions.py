"""The core without its extensions: it starts, answers on the console, and passes its own tests.

Folders are deleted from a copy of the tree, as a person deletes them: their entry points stay in
the metadata of the distribution.
"""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.control_server import command
from fakes.time_limit import LIMIT

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[1]
COPIED = ("orchestrator", "thinker", "tests", "config", "prompts", "skills", "scripts", ".ci")
EXTENSIONS = "orchestrator/extensions"
NAMES = sorted(path.parent.name for path in (ROOT / EXTENSIONS).glob("*/__init__.py"))
CORE_TESTS = ("orchestrator", "thinker")  # folders of tests, without those of extensions
SAMPLE = (  # of them, one or two for each of the core's larger packages
    "tests/orchestrator/agentsfile/test_mounting.py",
    "tests/orchestrator/cli/test_commands.py",
    "tests/orchestrator/inbound/test_admission.py",
    "tests/orchestrator/outbound/test_delivery.py",
    "tests/orchestrator/turns/test_turn_runner.py",
    "tests/orchestrator/test_routing.py",
    "tests/thinker/test_loop.py",
)
AGENTS = '{"agents": [{"agentId": "home", "llmProvider": "demo"}]}'
OURS = re.compile(r"orchestrator\.extensions\.\w")


class Checkout:
    """A copy of the product, on whose command line nothing of this tree is imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.extensions = folder / EXTENSIONS

    def environ(self, home: str) -> dict[str, str]:
        """Return what a process of the copy is given."""
        spawn = {"ORCHESTRATOR_SPAWN": "exec"}  # one agent needs no zygote
        own = {"PYTHONPATH": str(self.folder), "HOME": home, "ORCHESTRATOR_HOME": home}
        return {"PATH": os.environ["PATH"], **spawn, **own}

    def run(self, home: str, *arguments: str) -> str:
        """Return what a command prints."""
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "orchestrator", *arguments],
            cwd=home,
            env=self.environ(home),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def pass_tests(self, *arguments: str) -> None:
        """Run tests of the copy, which must pass."""
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout[-10_000:] + ended.stderr

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Take one extension away, and give it back."""
        aside = self.folder / f"removed-{name}"
        (self.extensions / name).rename(aside)
        try:
            yield
        finally:
            aside.rename(self.extensions / name)

    @contextmanager
    def daemon(self, home: str) -> Iterator[None]:
        """Run the daemon, ready, and stop it."""
        (Path(home) / "agents.json").write_text(AGENTS, "utf-8")
        command = [sys.executable, "-P", "-m", "orchestrator", "run"]
        with subprocess.Popen(
            command, cwd=home, env=self.environ(home), stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            seen = list[str]()
            try:
                for line in process.stderr:
                    seen.append(line)
                    if '"event":"ready"' in line:
                        break
                else:
                    pytest.fail("".join(seen))
                yield
                process.send_signal(signal.SIGTERM)
                assert process.wait(LIMIT) == 0, "".join(seen) + process.stderr.read()
            finally:
                process.kill()


def copy_tree(folder: Path) -> Checkout:
    """Copy what a checkout has, without what was made of it."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder)
    return Checkout(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy with all extensions."""
    return copy_tree(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy without any, and without their tests."""
    copy = copy_tree(tmp_path_factory.mktemp("core"))
    for name in NAMES:
        shutil.rmtree(copy.extensions / name)
    shutil.rmtree(copy.folder / "tests" / EXTENSIONS)
    return copy


@pytest.fixture
def home() -> Iterator[str]:
    """A home whose name leaves room for the control socket's."""
    with TemporaryDirectory(prefix="core-") as folder:
        yield folder


@pytest.mark.parametrize("name", NAMES)
def test_core_answers_without_an_extension(name: str, whole: Checkout, home: str) -> None:
    """Whichever it is, and although its entry point is still there.

    The question comes from this tree's command line, which spares each of them a process.
    """
    with whole.without(name), whole.daemon(home):
        assert "You said: hello" in command(Path(home), "send", "home", "hello").stdout


def test_core_answers_without_all_extensions(core: Checkout, home: str) -> None:
    """The console is the channel that is left, and the commands are those of the core."""
    with core.daemon(home):
        assert "You said: hello" in core.run(home, "send", "home", "hello")
        status = core.run(home, "status")
        assert re.search(r"Channels\nchannel +state\nconsole +ok\n\n", status)
        assert "1 agent" in core.run(home, "check")
    assert "send" in core.run(home, "--help")


def test_core_passes_some_of_its_tests_without_extensions(core: Checkout) -> None:
    """In every run; all of them are a part of the thorough tests."""
    core.pass_tests(*SAMPLE)


@pytest.mark.long
@pytest.mark.thorough(part="core")
def test_core_passes_all_of_its_tests_without_extensions(core: Checkout) -> None:
    """They need none: what needs one is a test of that extension."""
    core.pass_tests("-n", "2", "-m", "not thorough", *(f"tests/{name}" for name in CORE_TESTS))


def test_no_test_of_the_core_imports_an_extension() -> None:
    """Nor does a fake or a fuzzed target that it uses."""
    used = dict[Path, set[Path]]()
    guilty = set[Path]()
    fakes = [*(ROOT / "tests" / "fakes").glob("*.py"), *(ROOT / "tests" / "fuzzing").glob("*.py")]
    for path in [*_list_core_tests(), *fakes]:
        names = _list_imported(path)
        used[path] = {fake for fake in fakes if f"{fake.parent.name}.{fake.stem}" in names}
        if any(OURS.match(f"{name}.") for name in names):
            guilty.add(path)
    while more := {path for path, uses in used.items() if uses & guilty} - guilty:
        guilty |= more
    assert sorted(str(path.relative_to(ROOT)) for path in guilty - {*fakes}) == []


def _list_core_tests() -> list[Path]:
    found = [path for name in CORE_TESTS for path in (ROOT / "tests" / name).rglob("*.py")]
    return [path for path in found if not path.is_relative_to(ROOT / "tests" / EXTENSIONS)]


def _list_imported(path: Path) -> set[str]:
    """Return the names of the modules that a file imports when it is loaded."""
    found = set[str]()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{item.name}" for item in node.names)}
    return found
