"""The manual says what the code does: links, command lines, examples and terms are checked."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agentsschema import build_schema
from fakes import manual
from fakes.command_line import check_command
from fakes.manual import PAGES, REFERENCES, ROOT, Example

from orchestrator.agentsfile.loading import parse_agents_file
from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.extensions.schedules.skill_tasks import build_task_fields
from orchestrator.extensions.schedules.task_building import build_task_spec
from orchestrator.extensions.selftest.crash import invariants
from orchestrator.journal.inspect import invariants as journal_invariants
from thinker.formats import plain_yaml, skill_file
from thinker.formats.prompts import definition_files
from thinker.protocol.messages import RESULT_LIMIT, JsonObject, SideEffect

SOURCE = re.compile(r"[\w./-]+/\w+\.py|(orchestrator|thinker|tests)/[\w./-]*/|scripts/\w+")
CITED = re.compile(r"\b[TP]\d{1,2}\b|\binvariant \d{1,2}\b")
README_LINES = 150

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def test_readme_can_be_read_in_a_sitting() -> None:
    """What does not fit belongs into the manual."""
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README_LINES


def test_index_of_the_manual_names_every_page_once() -> None:
    """SKILL.md leads to all of it, and to no page that is not there."""
    text = (manual.SKILL / "SKILL.md").read_text("utf-8")
    listed = re.findall(r"^- \[([\w-]+)\]\(references/([\w-]+)\.md\)", text, re.MULTILINE)
    assert [name for name, link in listed if name != link] == []
    assert sorted(link for _, link in listed) == [
        page.stem for page in sorted(REFERENCES.iterdir())
    ]


@every_page
def test_agents_can_read_a_whole_page(page: Path) -> None:
    """A longer result of read_skill would be cut before the model sees it."""
    assert len(page.read_text("utf-8")) <= RESULT_LIMIT


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the repository and, if they name one, to a heading in it."""
    for link in manual.links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in manual.anchors(target), link


@every_page
def test_source_files_that_are_named_exist(page: Path) -> None:
    """Paths in the prose move with the files; a package's name in front may be left out."""
    roots = (ROOT, ROOT / "orchestrator", ROOT / "thinker")
    for code in manual.inline_code(page):
        found = SOURCE.fullmatch(code.partition(" ")[0])
        assert found is None or any((root / found[0]).exists() for root in roots), code


@every_page
def test_command_lines_are_those_of_the_program(page: Path) -> None:
    """Commands, options and arguments; nothing is run. Prose may leave arguments out."""
    if page.stem in manual.GENERATED:
        return
    for line in manual.command_lines(page):
        check_command(line)


@every_page
def test_examples_are_read_by_the_program(page: Path, tmp_path: Path) -> None:
    """agents.json, prompt definitions, skills, Python: as they stand there."""
    for example in manual.examples(page):
        check_example(example, tmp_path)


def test_source_cites_nothing_that_the_manual_does_not_define() -> None:
    """Transactions, promises, invariants, side-effect classes, checks of the self-test."""
    text = (REFERENCES / "journal.md").read_text("utf-8")
    defined = {
        cell.strip("` ").partition(",")[0]
        for cell in re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)
    }
    sources = [path for name in ("orchestrator", "thinker") for path in (ROOT / name).rglob("*.py")]
    cited = {term for path in sources for term in CITED.findall(path.read_text("utf-8"))}
    assert cited - defined == set()
    assert {*journal_invariants.CHECKS, *SideEffect} - defined == set()
    assert [name for name in invariants.CHECKS if f"`{name}`" not in text] == []


def test_crash_points_are_named_after_functions_that_exist() -> None:
    """Or after a boundary that is passed by name."""
    text = (REFERENCES / "journal.md").read_text("utf-8").partition("\n## Crash points")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", text.partition("\n## ")[0], re.MULTILINE)
    source = "\n".join(
        path.read_text("utf-8") for path in sorted((ROOT / "orchestrator").rglob("*.py"))
    )
    points = [point for row in rows for point in re.findall(r"`(\w+)`", row)]
    assert len(points) > 20
    assert [p for p in points if not re.search(rf'def _?{p}\(|"{p}(:before)?"', source)] == []


@pytest.mark.parametrize("package", ["orchestrator", "thinker"])
def test_every_package_stands_in_the_architecture(package: str) -> None:
    """And no other one."""
    text = (REFERENCES / "architecture.md").read_text("utf-8")
    table = (
        text.partition(f"\nBelow `{package}/`")[2].partition("\nBelow ")[0].partition("\n## ")[0]
    )
    listed = re.findall(r"^\| `([\w]+)/` \|", table, re.MULTILINE)
    found = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert {*listed} == found


def check_schema(value: object, wanted: JsonObject) -> None:
    """Check a value by a schema of ours, which needs no check of its own each time."""
    jsonschema.Draft202012Validator(wanted).validate(value)


def check_example(example: Example, folder: Path) -> None:
    """Read an example with what the program reads it with."""
    if example.info == "json":
        keys = dict.fromkeys(re.findall(r"\$\{(\w+)\}", example.text), "key")
        loaded = parse_agents_file(example.text.encode(), environ=keys)
        assert [problem for problem in loaded.problems if problem.severity == "error"] == []
        check_schema(json.loads(example.text), build_schema())
    elif example.info == "json fragment":
        check_fragment(example.text)
    elif example.info == "yaml":
        check_yaml(example.text, folder)
    elif example.info in ("markdown", "md"):
        check_markdown(example.text, folder)
    elif example.info == "python":
        ast.parse(example.text)


def check_fragment(text: str) -> None:
    """Part of an agents.json: each key that the file or an agent has fits its schema."""
    whole: Any = build_schema()
    value = json.loads(text if text.lstrip().startswith(("{", "[")) else f"{{{text}}}")
    known = {**whole["$defs"]["AgentDefinition"]["properties"], **whole["properties"]}
    for key in value if isinstance(value, dict) else ():
        if key in known:
            check_schema(value[key], {**known[key], "$defs": whole["$defs"]})


def check_yaml(text: str, folder: Path) -> None:
    """A prompt definition, or the metadata of a skill."""
    if "metadata" in plain_yaml.parse_mapping(text, "the example"):
        check_markdown(f"---\nname: example\ndescription: x\n{text}---\nDo it.\n", folder)
    else:
        check_definition(folder / "example.yaml", text)


def check_markdown(text: str, folder: Path) -> None:
    """A SKILL.md with its schedule, or a prompt definition."""
    parts = plain_yaml.split_front_matter(text)
    fields = {} if parts is None else plain_yaml.parse_mapping(parts[0], "the example")
    if "description" not in fields:
        check_definition(folder / "example.md", text)
        return
    skill = skill_file.parse_skill(text, str(fields["name"]))
    if skill.trigger_config is not None:
        build_task_spec(normalize_fields(build_task_fields(skill), 0, "a"), "UTC", None, 0)


def check_definition(path: Path, text: str) -> None:
    """A prompt definition without a problem."""
    path.write_text(text, "utf-8")
    found = definition_files.load_definition_file(path)
    assert found.definition is not None, found.problems
    assert found.problems == ()
