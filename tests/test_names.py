"""The names of functions: verbs with an object, so that a search leads to one place."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PRODUCT = ("orchestrator", "thinker")
MOST_ONE_WORD = 0.15  # share of a package's functions
MOST_PLACES = 5
# By their ends, and those that end otherwise. What is a verb as well is not among them: cut, found,
# hurt, let, put, read, run, set, shut, split, spread.
PARTICIPLE = re.compile(
    r"\w*(ed|en)"
    r"|begun|bought|bound|brought|built|caught|clung|come|dealt|done|drawn|dug|felt|fought"
    r"|gone|got|grown|heard|held|hung|kept|known|laid|left|lent|lit|lost|made|meant|met"
    r"|paid|sent|shot|shown|slept|sold|sought|spent|stood|struck|stuck|swept|sworn|taught"
    r"|thought|thrown|told|torn|understood|undone|unknown|won|worn|wound"
)
# What ends like a participle, and is none.
VERB_OR_NOUN = re.compile(
    r"children|embed|exceed|feed|happen|listen|need|open|proceed|seed|shorten|speed|token"
)
# Participles that stay, each with the reason.
ALLOWED = {
    "quoted": "a layer of a prompt is stored under the name of its function",
    "resolved": "a method of `thinker.runtime`, whose names are promised",
    "narrowed": "the same",
    "xOpen": "SQLite's name for a method of its file systems",
}
# One word each: their object is the class, and standard libraries call them so.
STANDARD = re.compile(r"aclose|add|close|main|open|read|run|send|start|stop|wait|write")


class Function(NamedTuple):
    """A function of a file; ``owner`` is the class that has it, if one has."""

    path: str
    name: str
    owner: str
    decorators: tuple[str, ...]

    @property
    def words(self) -> int:
        """Count the words of the name."""
        return len(self.name.strip("_").split("_"))

    @property
    def is_named_by_us(self) -> bool:
        """Return whether it is a function to its callers, and Python does not name it."""
        attribute = any("property" in one or one.endswith(".setter") for one in self.decorators)
        return not attribute and not self.name.startswith("__")

    @property
    def is_command(self) -> bool:
        """Return whether the name is that of a command at the shell."""
        return any(".command" in one or ".callback" in one for one in self.decorators)


@cache
def trees(folder: str) -> dict[str, ast.Module]:
    """The syntax trees of a folder's Python files, by their paths."""
    files = [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    texts = {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in files
        if path.suffix in {".py", ""}
    }
    return {
        path: ast.parse(text)
        for path, text in texts.items()
        if path.endswith(".py") or text.startswith("#!/usr/bin/env python")
    }


def within(node: ast.AST, path: str, owner: str = "") -> Iterator[Function]:
    """The functions in a node, those inside functions as well."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = tuple(map(ast.unparse, child.decorator_list))
            yield Function(path, child.name, owner, decorators)
        inside = child.name if isinstance(child, ast.ClassDef) else owner
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from within(child, path, "" if is_function else inside)


@cache
def functions(folder: str) -> tuple[Function, ...]:
    """The functions of a folder that we name."""
    every = (one for path, tree in trees(folder).items() for one in within(tree, path))
    return tuple(one for one in every if one.is_named_by_us)


def is_participle(name: str) -> bool:
    """Whether a name is one past participle and nothing else."""
    word = name.strip("_")
    if "_" in word or VERB_OR_NOUN.fullmatch(word):
        return False
    return PARTICIPLE.fullmatch(word) is not None


@pytest.mark.parametrize(
    ("name", "whole"),
    [("told", True), ("_ended", True), ("written", True), ("feed", False), ("mark_ended", False)],
)
def test_participle_is_told_from_a_verb(name: str, whole: bool) -> None:  # noqa: FBT001 - of a table
    """By its end, or because the list has it."""
    assert is_participle(name) is whole


@pytest.mark.parametrize("folder", [*PRODUCT, "scripts"])
def test_no_function_is_named_by_a_participle_alone(folder: str) -> None:
    """Its name says what it does: `mark_delivered`, not `delivered`."""
    found = {
        f"{one.path}: {one.name}"
        for one in functions(folder)
        if is_participle(one.name) and one.name not in ALLOWED
    }
    assert found == set()


def test_each_participle_that_may_stay_is_there() -> None:
    """A reason goes with what it was for."""
    names = {one.name for folder in PRODUCT for one in functions(folder)}
    assert ALLOWED.keys() - names == set()


@pytest.mark.parametrize("folder", PRODUCT)
def test_most_functions_are_named_by_verb_and_object(folder: str) -> None:
    """One word is for methods whose class is the object."""
    short = [one for one in functions(folder) if one.words == 1]
    share = len(short) / len(functions(folder))
    assert share <= MOST_ONE_WORD, f"{share:.1%}: {sorted({one.name for one in short})}"


def promised_names() -> set[str]:
    """The methods that a protocol or a base class of ours declares, and others carry out."""
    classes = [
        node
        for folder in PRODUCT
        for tree in trees(folder).values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    bases = {ast.unparse(base).partition("[")[0] for node in classes for base in node.bases}
    return {
        method.name
        for node in classes
        if node.name in bases or any("Protocol" in ast.unparse(base) for base in node.bases)
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_a_name_leads_to_few_places() -> None:
    """Names of commands, standard methods and methods of one protocol aside."""
    places: dict[str, list[str]] = defaultdict(list)
    promised = promised_names()
    for folder in PRODUCT:
        for one in functions(folder):
            shared = STANDARD.fullmatch(one.name) or (one.owner and one.name in promised)
            if not shared and not one.is_command:
                places[one.name].append(one.path)
    assert {name: paths for name, paths in places.items() if len(paths) > MOST_PLACES} == {}
