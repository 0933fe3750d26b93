"""Read prompt definitions from ``<name>.md``, ``.yaml`` and ``.json`` files.

A file defines the prompt of its name. YAML and JSON files hold the definition as one mapping. A
Markdown file holds the fields as front matter and the ``prompt`` as its body; without front matter
it is a text for other prompts to include.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from thinker.formats import plain_yaml
from thinker.formats.plain_yaml import YamlError
from thinker.formats.prompts.definition import INHERIT, PromptDefinition, read
from thinker.formats.prompts.problem import DefinitionError, DefinitionProblem
from thinker.protocol.messages import JsonObject

ENDINGS = (".md", ".yaml", ".yml", ".json")
OTHER_DATA = "playbooks.json"  # the built-in playbooks are in the folder of the built-in prompts
MAX_BYTES = 256 * 1024
PLAIN = "Text for other prompts to include"

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True)
class DefinitionFile:
    """A file with its definition, or with None and the problems."""

    path: Path
    definition: PromptDefinition | None
    problems: tuple[DefinitionProblem, ...] = ()


def scan(directories: Sequence[Path]) -> dict[str, DefinitionFile]:
    """Return every definition file in the directories, by name; a later directory wins.

    Missing directories count as empty.
    """
    found: dict[str, DefinitionFile] = {}
    for directory in directories:
        here: dict[str, DefinitionFile] = {}
        for path in _paths(directory):
            first = here.get(path.stem)
            if first is None:
                here[path.stem] = load(path)
            else:
                message = f"{path.name} has the same name; remove or rename one of them"
                problem = DefinitionProblem((), "file_name", message)
                here[path.stem] = replace(first, problems=(*first.problems, problem))
        found |= here
    return found


def load(path: Path) -> DefinitionFile:
    """Read the file at ``path``; errors become problems of the result."""
    try:
        definition, problems = read({"name": path.stem, **_fields(path)})
    except (DefinitionError, YamlError) as error:
        return DefinitionFile(path, None, (DefinitionProblem((), "file", str(error)),))
    if definition is not None and definition.name != path.stem:
        message = f"{definition.name!r} is not the file's name; set it to {path.stem!r}"
        return DefinitionFile(path, None, (DefinitionProblem(("name",), "file_name", message),))
    return DefinitionFile(path, definition, problems)


def _paths(directory: Path) -> Iterator[Path]:
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        return
    for path in entries:
        if path.suffix in ENDINGS and path.name[0] != "." and path.name != OTHER_DATA:
            yield path


def _fields(path: Path) -> JsonObject:
    """Return the definition in a file as JSON; the errors are those that `load` reports."""
    text = _text(path)
    if path.suffix == ".json":
        try:
            return _OBJECT.validate_json(text)
        except ValidationError as error:
            raise DefinitionError(f"{error.errors()[0]['msg']}; correct the file") from error
    if path.suffix != ".md":
        return plain_yaml.load(text, "the file")
    parts = plain_yaml.front_matter(text)
    if parts is None:
        return {"toolDescription": PLAIN, "model": INHERIT, "prompt": text.strip()}
    fields = plain_yaml.load(parts[0], "the front matter", first_line=2)
    body = parts[1].strip()
    if body and "prompt" in fields:
        raise DefinitionError("prompt: is in the front matter and below it; keep one of them")
    return {**fields, "prompt": body} if body else fields


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise DefinitionError("is not a regular file; replace it with one")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"{error.strerror}; make the file readable") from error
    if len(data) > MAX_BYTES:
        raise DefinitionError(
            f"larger than {MAX_BYTES // 1024} KiB; split it and include the parts"
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DefinitionError(f"not UTF-8 at byte {error.start}; save it as UTF-8") from error
