"""The gates: what a reader may rely on in every file of this repository."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("orchestrator", "thinker")
FOLDERS = ("orchestrator", "thinker", "tests", "scripts")
DOOR = ROOT / "orchestrator" / "extension.py"
MAX_IMPORTS = 20
MAX_LINES = 450
MAX_PARAMETERS = 8
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "core"}
MIRRORED = ("orchestrator", "thinker")
CROSS_CUTTING = {  # tests of a whole folder
    "orchestrator/cli/test_columns.py",
    "orchestrator/cli/test_commands.py",
    "orchestrator/cli/test_exit_codes.py",
    "orchestrator/cli/test_prose.py",
    "orchestrator/extensions/agently/test_upstream_quirks.py",
    "orchestrator/extensions/prompt_inspector/commands/test_prompt.py",
    "orchestrator/extensions/test_channel_folders.py",
    "orchestrator/extensions/test_check.py",
    "orchestrator/extensions/test_growth.py",
    "orchestrator/extensions/test_lasting_changes.py",
    "orchestrator/extensions/test_shipped_files.py",
    "orchestrator/extensions/test_tool_requests.py",
    "orchestrator/journal/db/test_distinct.py",
    "orchestrator/journal/test_golden.py",
    "orchestrator/journal/test_machine.py",
    "orchestrator/journal/test_statement_plans.py",
    "orchestrator/extensions/anthropic/worker/test_anthropic_api_is_honest.py",
    "thinker/models/test_openai_api_is_honest.py",
    "thinker/models/test_reasoning.py",
}
LIMITS = {"anyio.fail_after(": "orchestrator/testing/time_limit.py"}  # the one file that may use it
CLOCKS = ("time.sleep(", "perf_counter", "time.monotonic", "process_time", "pytest.mark.timeout")
FUZZER = (
    "tests/fuzzing/__main__.py",
    "tests/fuzzing/target.py",
)  # runs for minutes, compares costs


def sources() -> list[Path]:
    """Every Python file, and every script without an ending."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found += [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]
    return sorted(found)


@cache
def python_files() -> list[Path]:
    """List the files that hold Python."""
    return [
        path
        for path in sources()
        if path.suffix == ".py" or path.read_text("utf-8").startswith("#!/usr/bin/env python")
    ]


@cache
def parsed() -> dict[Path, ast.Module]:
    """The syntax trees of these files."""
    return {path: ast.parse(path.read_text("utf-8")) for path in python_files()}


def imported(path: Path, statements: Iterable[ast.AST] | None = None) -> set[str]:
    """Return the modules of ours that a module imports anywhere, or in these statements alone."""
    found = set[str]()
    for node in ast.walk(parsed()[path]) if statements is None else statements:
        if isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {_module(node.module, item.name) for item in node.names}
    return {name for name in found if name.partition(".")[0] in PACKAGES}


def _module(package: str, name: str) -> str:
    """What ``from package import name`` imports: the package, or a module in it."""
    inside = ROOT / package.replace(".", "/") / name
    is_module = inside.is_dir() or inside.with_suffix(".py").exists()
    return f"{package}.{name}" if is_module else package


def test_no_module_imports_more_than_20_of_ours() -> None:
    """One that needs more knows too much; a split that shares everything does not help.

    Imports for types alone count, except those of the door, which names the types of both sides.
    """
    wide = {
        str(path.relative_to(ROOT)): count
        for path in package_files()
        if (count := len(imported(path))) > MAX_IMPORTS and path != DOOR
    }
    assert wide == {}
    assert len(imported(DOOR, parsed()[DOOR].body)) <= MAX_IMPORTS


def test_no_call_unpacks_a_display() -> None:
    """``call(*(a, b))`` only gets around the limit of parameters and of a line; name them."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in parsed().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(
            isinstance(item, ast.Starred) and isinstance(item.value, ast.Tuple | ast.List)
            for item in node.args
        )
    ]
    assert found == []


def test_no_file_is_longer_than_450_lines() -> None:
    """Blank lines, comments and docstrings included."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_function_takes_more_than_8_parameters() -> None:
    """Keyword-only parameters count too, which ruff's own rule does not see."""
    wide = []
    for path, tree in parsed().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([arg for arg in args if arg.arg not in {"self", "cls"}])
                if count > MAX_PARAMETERS:
                    wide.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert wide == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    """Names are the field's terms; a drawer called utils fills by itself."""
    assert [path for path in sources() if path.stem in FORBIDDEN_NAMES] == []


def package_files() -> list[Path]:
    """List the modules of the two packages."""
    return [path for path in python_files() if path.relative_to(ROOT).parts[0] in PACKAGES]


def test_every_module_has_a_name_of_its_own() -> None:
    """A journal's module may share that of its user, and a command that of what it shows."""
    names: dict[str, list[str]] = {}
    for path in package_files():
        place = path.relative_to(ROOT).parts
        command = place[1] == "cli" or "commands" in place
        if path.stem not in {"__init__", "__main__", "extension"} and not command:
            kind = "journal" if place[1] == "journal" else ""
            names.setdefault(f"{kind}:{path.stem}", []).append(str(path.relative_to(ROOT)))
    assert [paths for paths in names.values() if len(paths) > 1] == []


def test_every_public_class_has_a_name_of_its_own() -> None:
    """A name leads to one place."""
    names: dict[str, list[str]] = {}
    for path in package_files():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name[:1] != "_":
                names.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in names.items() if len(paths) > 1} == {}


def test_every_test_says_what_it_shows() -> None:
    """Each test function has a docstring."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_tests_mirror_the_source() -> None:
    """``test_X.py`` is in the folder of the module or package whose name X is or begins with."""
    astray = []
    for path in [
        path for folder in MIRRORED for path in (ROOT / "tests" / folder).rglob("test_*.py")
    ]:
        name, folder = (
            path.relative_to(ROOT / "tests"),
            ROOT / path.parent.relative_to(ROOT / "tests"),
        )
        modules = {folder.name, *(found.stem.strip("_") for found in folder.glob("*"))}
        stem = path.stem.removeprefix("test_")
        if not any(stem == module or stem.startswith(f"{module}_") for module in modules):
            astray.append(str(name))
    assert set(astray) <= CROSS_CUTTING


def test_no_test_depends_on_how_fast_the_machine_is() -> None:
    """One generous limit ends a test that hangs; nothing sleeps or measures time."""
    found = [
        (str(path.relative_to(ROOT)), mark)
        for path in (ROOT / "tests").rglob("*.py")
        for mark in (*LIMITS, *CLOCKS)
        if mark in path.read_text("utf-8")
        and path != Path(__file__)
        and str(path.relative_to(ROOT)) not in (LIMITS.get(mark), *FUZZER)
    ]
    assert found == []


def test_no_suppression_without_a_reason_and_no_leftover() -> None:
    """Bare suppressions and notes to self do not land."""
    marks = ("type: ignore" + "\n", "# no" + "qa\n", "TO" + "DO", "FIX" + "ME")
    found = [
        (str(path.relative_to(ROOT)), mark)
        for path in sources()
        for mark in marks
        if mark in path.read_text("utf-8")
    ]
    assert found == []


@pytest.mark.parametrize(
    "gate",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        pytest.param(["mypy"], marks=[pytest.mark.long, pytest.mark.thorough(part="types")]),
        ["importlinter.cli"],
    ],
    ids=lambda gate: " ".join(gate[:2]),
)
def test_gate_passes(gate: list[str]) -> None:
    """Lint, format, types and layers are kept, with no list of exceptions."""
    command = (
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
        if gate == ["importlinter.cli"]
        else [sys.executable, "-m", *gate]
    )
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "lock",
    ["runtime.lock", "all.lock", "dev.lock", "clients.lock", "homeserver.lock", "meaning.lock"],
)
def test_every_dependency_is_locked(lock: str) -> None:
    """An install takes what the lock names; after a change of pyproject.toml run scripts/lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    if lock in ("clients.lock", "homeserver.lock"):
        wanted = project["dependency-groups"][lock.removesuffix(".lock")]
    extras = project["project"]["optional-dependencies"]
    if lock == "meaning.lock":
        wanted = extras["meaning"]
    if lock in ("all.lock", "dev.lock"):
        names = {*extras} - {"all", "cluster", "local", "meaning"}  # apart from the rest, or never
        wanted += [one for name in names for one in extras[name]]
    if lock == "dev.lock":
        wanted += project["dependency-groups"]["dev"]
    locked = re.findall(r"^([\w.-]+)==", (ROOT / ".ci" / lock).read_text("utf-8"), re.MULTILINE)
    assert {_normal(name) for name in wanted} <= {_normal(name) for name in locked}


def _normal(requirement: str) -> str:
    """A package's name as PEP 503 compares it, without version."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-").replace(".", "-")
