"""Read prompt definitions from ``<name>.md``, ``.yaml`` and ``.json`` files.

A file defines the prompt of its name. YAML and JSON files hold the definition as one mapping. A
Markdown file holds the fields as front matter and the ``prompt`` as its body; without front matter
it is text for other prompts to include.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from thinker.formats import plain_yaml, regular_file
from thinker.formats.plain_yaml import YamlError
from thinker.formats.prompts.definition import INHERIT, PromptDefinition, parse_definition
from thinker.formats.prompts.output_checks import OUTPUT, check_output_schema
from thinker.formats.prompts.problem import DefinitionError, DefinitionProblem
from thinker.formats.prompts.substitution import PLACE
from thinker.formats.regular_file import FileError, FileKind, Folder
from thinker.protocol.messages import OBJECT, JsonObject

ENDINGS = (".md", ".yaml", ".yml", ".json")
OTHER_DATA = "playbooks.json"  # the built-in playbooks are in the folder of the built-in prompts
PLAIN = "Text for other prompts to include"


@dataclass(frozen=True)
class DefinitionFile:
    """A file with its definition, or with None and the problems; ``text`` is its content."""

    path: Path
    definition: PromptDefinition | None
    problems: tuple[DefinitionProblem, ...] = ()
    text: str = field(default="", repr=False)

    def find_line(self, problem: DefinitionProblem) -> int:
        """Return the line of a problem in the file, counted from 1; 0 if unknown."""
        written = PLACE.search(problem.message)  # a variable in the text is where it is written
        at = -1 if written is None else self.text.find(written[0])
        if at >= 0:
            return self.text.count("\n", 0, at) + 1
        parts = plain_yaml.split_front_matter(self.text) if self.path.suffix == ".md" else None
        text, first_line = (self.text, 1) if parts is None else (parts[0], 2)
        return plain_yaml.find_line(text, problem.path, first_line) if problem.path else 0


def scan_definitions(
    directories: Sequence[Path],
) -> tuple[dict[str, DefinitionFile], dict[Path, FileError]]:
    """Return the definition files in the directories, keyed by name, and what is not used.

    A file of a later directory replaces one of the same name. Missing directories count as empty.
    """
    found: dict[str, DefinitionFile] = {}
    unusable: dict[Path, FileError] = {}
    for directory in directories:
        here: dict[str, DefinitionFile] = {}
        folder = Folder(directory)
        try:
            paths = tuple(_list_definition_paths(folder))
        except FileError as error:
            unusable[directory] = error
            continue
        if folder.left_out:
            unusable[directory] = FileError(folder.left_out)
        for path in paths:
            first = here.get(path.stem)
            if first is None:
                here[path.stem] = load_definition_file(path, folder.read_text)
            else:
                message = f"{path.name} has the same name; remove or rename one of them"
                problem = DefinitionProblem((), "file_name", message)
                here[path.stem] = replace(first, problems=(*first.problems, problem))
        found |= here
    return found, unusable


def load_definition_file(
    path: Path, read_text: Callable[[Path, FileKind], str] = regular_file.read_text
) -> DefinitionFile:
    """Read a definition file; errors become problems of the result."""
    try:
        text = read_text(path, regular_file.DEFINITION).replace("\r\n", "\n")
        definition, problems = _parse_definition_text(path.stem, path.suffix, text)
    except (DefinitionError, FileError, YamlError) as error:
        return DefinitionFile(path, None, (DefinitionProblem((), "file", str(error)),))
    if definition is not None and definition.name != path.stem:
        message = f"{definition.name!r} is not the file's name; set it to {path.stem!r}"
        wrong = DefinitionProblem(("name",), "file_name", message)
        return DefinitionFile(path, None, (wrong,), text)
    return DefinitionFile(path, definition, problems, text)


def _list_definition_paths(folder: Folder) -> Iterator[Path]:
    for path in map(folder.path.joinpath, folder.list_names()):
        if path.suffix in ENDINGS and path.name[0] != "." and path.name != OTHER_DATA:
            yield path


@lru_cache(maxsize=256)
def _parse_definition_text(
    name: str, ending: str, text: str
) -> tuple[PromptDefinition | None, tuple[DefinitionProblem, ...]]:
    """Return the definition in a file, and its problems; results are cached."""
    fields = {"name": name, **_parse_fields(ending, text)}
    definition, problems = parse_definition(fields)
    wrong = check_output_schema(fields.get("prompt"))
    if not wrong:
        return definition, problems
    return None, (*wrong, *(problem for problem in problems if problem.path != OUTPUT))


def _parse_fields(ending: str, text: str) -> JsonObject:
    """Return the definition in a file as JSON.

    Raises:
        DefinitionError: the text is not JSON, or names a field twice.
        YamlError: the text is not a YAML mapping.
    """
    if ending == ".json":
        try:
            fields = OBJECT.validate_json(text)
        except ValidationError as error:
            raise DefinitionError(f"{error.errors()[0]['msg']}; correct the file") from error
        json.loads(text, object_pairs_hook=_require_unique_fields, parse_int=str)
        return fields
    if ending != ".md":
        return plain_yaml.parse_mapping(text, "the file")
    parts = plain_yaml.split_front_matter(text)
    if parts is None:
        return {"toolDescription": PLAIN, "model": INHERIT, "prompt": text.strip()}
    fields = plain_yaml.parse_mapping(parts[0], "the front matter", first_line=2)
    body = parts[1].strip()
    if body and "prompt" in fields:
        raise DefinitionError("prompt: is in the front matter and below it; keep one of them")
    return {**fields, "prompt": body} if body else fields


def _require_unique_fields(fields: list[tuple[str, object]]) -> None:
    """Refuse an object in which a field appears twice: one of the two would have no effect."""
    for name, number in Counter(name for name, _ in fields).items():
        if number > 1:
            raise DefinitionError(f"{name!r} appears twice; remove one")
