"""What runs thoroughly is listed with what finds its faults in every run."""

import ast
import re
from functools import cache
from pathlib import Path

from test_tables import rows

TESTS = Path(__file__).parent
TABLE = TESTS / "thorough.md"
MARK = re.compile(r"thorough\(part=\"(\w+)\"\)")
WHOLE = re.compile(r"^pytestmark = [^\n]*(\n    [^\n]*)*thorough", re.MULTILINE)
STARTING = {  # what starts a daemon
    ("fakes.daemon", "run_to_its_end"),
    ("fakes.daemon", "running_daemon"),
    ("orchestrator.extensions.selftest.attacks.run_attacks", "run_attacks"),
    ("orchestrator.extensions.selftest.crash.daemon_process", "ForkServer"),
    ("orchestrator.extensions.selftest.nodes.node_trial", "NodeTrial"),
}
THROUGH_COMMANDS = {"packages/test_installed.py", "test_without_extensions.py"}  # as people do
MOST_WITH_DAEMONS = 21


def cells() -> list[list[str]]:
    """The rows of what moved: test, part, what finds its faults in every run, note."""
    return [row for row in rows(TABLE) if len(row[0]) > 2 and ".py" in row[0]]


@cache
def texts() -> dict[str, str]:
    """The text of each test file, by its path in this folder."""
    found = sorted(TESTS.rglob("test_*.py"))
    return {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in found}


def used_by(node: ast.AST, imports: dict[str, tuple[str, str]]) -> set[tuple[str, str]]:
    """What a piece of code uses of other modules, each with its module."""
    names = {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
    return {imports[name] for name in names & imports.keys()}


def imports_of(tree: ast.Module, module: str) -> dict[str, tuple[str, str]]:
    """Where each name of a module comes from: another one, or itself."""
    found = {name: (module, name) for name in definitions(tree)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {
                item.asname or item.name: (str(node.module), item.name) for item in node.names
            }
    return found


def definitions(tree: ast.Module) -> dict[str, ast.AST]:
    """The functions and classes of a module."""
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


@cache
def starting() -> set[tuple[str, str]]:
    """What starts a daemon, with the fakes through which it is called."""
    uses = dict[tuple[str, str], set[tuple[str, str]]]()
    for path in (TESTS / "fakes").glob("*.py"):
        module, tree = f"fakes.{path.stem}", ast.parse(path.read_text("utf-8"))
        imports = imports_of(tree, module)
        uses |= {(module, name): used_by(node, imports) for name, node in definitions(tree).items()}
    found, before = set(STARTING), set[tuple[str, str]]()
    while found != before:
        before = set(found)
        found |= {name for name, used in uses.items() if used & found}
    return found


def starts_a_daemon(text: str) -> bool:
    """Whether any test of a file that runs in every run starts a daemon."""
    if WHOLE.search(text):
        return False
    tree = ast.parse(text)
    imports = imports_of(tree, "")
    always = {
        name: node
        for name, node in definitions(tree).items()
        if not any("thorough" in ast.unparse(mark) for mark in getattr(node, "decorator_list", ()))
    }
    runs = any(name.startswith(("test_", "Test")) for name in always)
    return runs and any(used_by(node, imports) & starting() for node in always.values())


def test_every_thorough_test_is_listed_with_its_part() -> None:
    """And nothing else is."""
    marked = {(file, part) for file, text in texts().items() for part in MARK.findall(text)}
    listed = {(row[0].strip("`").partition("::")[0], row[1].strip("`")) for row in cells()}
    assert marked == listed


def test_parts_are_those_of_the_first_table() -> None:
    """PostgreSQL has tests without a mark of its own, and so have properties."""
    parts = [row[0].strip("`") for row in rows(TABLE) if row[0][0] == "`" and ".py" not in row[0]]
    assert {row[1].strip("`") for row in cells()} == set(parts)


def test_what_finds_their_faults_runs_in_every_run() -> None:
    """No thorough test stands for another."""
    found = [name for row in cells() for name in re.findall(r"`([^`]+\.py)`", row[2])]
    assert [name for name in found if WHOLE.search(texts()[name])] == []
    assert [row[0] for row in cells() if "`" not in row[2]] == []


def test_every_fault_is_found_in_every_run() -> None:
    """At least one test of each scenario is not thorough, if it has any."""
    scenarios = [row for row in rows(TESTS / "faults.md") if row[0].startswith("F") and row[2]]
    lost = []
    for name, _, tests, _ in scenarios:
        named = re.findall(r"`([^`]+\.py)::(\w+)`", tests)
        if all(runs_thoroughly(*test) for test in named):
            lost.append(name)
    assert lost == []


def runs_thoroughly(file: str, name: str) -> bool:
    """Whether a test runs only when it is asked for."""
    text = texts()[file]
    if WHOLE.search(text):
        return True
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == name
        and any(
            ast.unparse(mark).startswith("pytest.mark.thorough") for mark in node.decorator_list
        )
        for node in ast.walk(ast.parse(text))
    )


def test_few_files_start_daemons_in_every_run() -> None:
    """One for each boundary of processes, and for each platform; the rest is found in memory."""
    found = [file for file, text in texts().items() if starts_a_daemon(text)]
    found += THROUGH_COMMANDS
    assert len(found) <= MOST_WITH_DAEMONS, found
