"""What `scripts/schema` writes: the JSON Schema of agents.json, for editors, and names in it."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise, starmap
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from orchestrator import installed
from orchestrator.agentsfile import ConfigModel
from orchestrator.agentsfile.mounting import build_file_model
from thinker.protocol.messages import JsonObject

SCHEMA_ID = "urn:orchestrator:agents-schema:1"


class _Dialect(GenerateJsonSchema):
    """JSON Schema 2020-12 with the docstrings below attributes as descriptions.

    pydantic could read these docstrings itself (``use_attribute_docstrings``), but would do so at
    each start of the daemon. Titles derived from attribute names are left out.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's type
        """Return False: a title would repeat the field's name."""
        del schema
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's type
        body = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        for name, text in list_field_texts(model):
            body["properties"][model.model_fields[name].alias]["description"] = text
        return body


def build_schema() -> JsonObject:
    body = build_file_model().model_json_schema(by_alias=True, schema_generator=_Dialect)
    head = {"$schema": GenerateJsonSchema.schema_dialect, "$id": SCHEMA_ID}
    return cast("JsonObject", head | body)


def collect_brought_names() -> dict[str, dict[str, str]]:
    """Return which of our extensions brings each field of the file, ``agents`` and ``channels``."""
    brought: dict[str, dict[str, str]] = {"file": {}, "agents": {}, "channels": {}}
    for name, extension in installed.find_installed().own.items():
        brought["file"] |= dict.fromkeys(extension.file_fields, name)
        brought["agents"] |= dict.fromkeys(extension.file_agent_fields, name)
        brought["agents"] |= dict.fromkeys(_list_keys(extension.get_agent_model()), name)
        brought["channels"] |= dict.fromkeys(_list_keys(extension.get_channels_model()), name)
    return brought


def list_field_texts(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the name and docstring of each field of a model, including inherited ones."""
    for base in reversed(model.__mro__):
        written = issubclass(base, BaseModel) and not base.__module__.startswith("pydantic")
        match ast.parse(inspect.getsource(base) if written else ""):
            case ast.Module(body=[ast.ClassDef(body=statements)]):
                for name, text in filter(None, starmap(_parse_field_text, pairwise(statements))):
                    if name in model.model_fields:
                        yield name, text


def _parse_field_text(statement: ast.stmt, following: ast.stmt) -> tuple[str, str] | None:
    match statement, following:
        case (
            ast.AnnAssign(target=ast.Name(id=name)),
            ast.Expr(value=ast.Constant(value=str(text))),
        ):
            return name, inspect.cleandoc(text)
    return None


def _list_keys(model: type[ConfigModel] | None) -> Iterable[str]:
    """Return the names of fields as the file writes them."""
    fields = {} if model is None else model.model_fields
    return (field.alias or name for name, field in fields.items())
