"""Load YAML safely: YAML 1.2 scalars, plain values, and no anchors, aliases or tags."""

import re
from collections.abc import Sequence

import orjson
import yaml
from pydantic import ValidationError

from thinker.protocol.messages import OBJECT, JsonObject

MAX_DEPTH = 16  # the deepest field of any format (a plan's parameters, a JSON Schema) needs 10

FRONT_MATTER = re.compile(
    r"\s*---[^\S\n]*\n(.*?)^---[^\S\n]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE
)


class YamlError(Exception):
    """The text cannot be used; the message begins with the line number if one is known.

    ``line`` is that number, or 0; ``reason`` is the message without the number.
    """

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.line = line
        self.reason = reason


class _RepeatedError(yaml.MarkedYAMLError):
    """A field appears twice; one of the two would silently have no effect."""


class _Loader(yaml.CSafeLoader):  # thirteen times as fast as the loader in Python
    """Reads YAML 1.2 scalars: in 1.1, ``no`` is false, ``1:30`` is 90, ``2026-01-02`` a date."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check the names of a mapping, instead of merging other mappings into it."""
        names: set[object] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else key
            if name in names:
                raise _RepeatedError(None, None, f"{name!r} appears twice", key.start_mark)
            names.add(name)


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}", list("-+0123456789")),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first
    )


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Return the YAML between two ``---`` lines at the start of a text, and the text after it.

    Return None if there is no front matter.
    """
    parts = FRONT_MATTER.fullmatch(text)
    return None if parts is None else (parts[1], parts[2])


def parse_mapping(text: str, what: str, first_line: int = 1) -> JsonObject:
    """Parse YAML that is one mapping.

    ``what`` names the text in error messages; ``first_line`` is its line number in the file.

    Raises:
        YamlError: The text is not YAML, is not a mapping, is nested too deeply, or has an anchor,
            an alias or a tag.
    """
    try:
        _check_events(text, first_line)
        # _Loader derives from the safe loader, which builds plain values only.
        fields = yaml.load(text, _Loader)  # noqa: S506 - see above
        return OBJECT.validate_json(orjson.dumps(fields))
    except yaml.YAMLError as error:
        raise _build_yaml_error(error, what, first_line) from error
    except (orjson.JSONEncodeError, ValidationError) as error:
        raise YamlError(f"{what} must be 'field: value' lines with text as field names") from error


def find_line(text: str, path: Sequence[str | int], first_line: int = 1) -> int:
    """Return the line of the value at ``path``, or of the last part that exists; 0 if unclear."""
    try:
        node = yaml.compose(text, _Loader)
    except yaml.YAMLError:
        return 0
    line = 0 if node is None else first_line
    for part in path:
        entries = {}
        if isinstance(node, yaml.MappingNode):
            entries = {key.value: (key, value) for key, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            entries = dict(enumerate((item, item) for item in node.value))
        if part not in entries:
            break
        place, node = entries[part]
        line = place.start_mark.line + first_line
    return line


def _check_events(text: str, first_line: int) -> None:
    """Refuse a small file that would grow large in memory, before building any value."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = (event.start_mark.line if event.start_mark else 0) + first_line
        if getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise YamlError("anchors, aliases and tags are not allowed; write the value out", line)
        if depth > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels; flatten it", line)


def _build_yaml_error(error: yaml.YAMLError, what: str, first_line: int) -> YamlError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = error.problem_mark.line + first_line
        advice = "remove one" if isinstance(error, _RepeatedError) else "correct or quote it"
        if "cannot start any token" in (error.problem or ""):
            advice = "indent with spaces and not with tabs, and quote what begins with @ or %"
        return YamlError(f"{error.problem}; {advice}", line)
    return YamlError(f"{what} is not valid YAML ({error}); correct it".replace("\n", " "))
