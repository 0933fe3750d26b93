"""The JSON Schema of agents.json, for editors. `scripts/schema` writes it to config/."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise, starmap
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from orchestrator.agentsfile.agents_file import AgentsFile
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
        for name, text in field_texts(model):
            body["properties"][model.model_fields[name].alias]["description"] = text
        return body


def schema() -> JsonObject:
    body = AgentsFile.model_json_schema(by_alias=True, schema_generator=_Dialect)
    head = {"$schema": GenerateJsonSchema.schema_dialect, "$id": SCHEMA_ID}
    return cast("JsonObject", head | body)


def field_texts(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield name and docstring of each attribute of a model, inherited ones included."""
    for base in reversed(model.__mro__):
        from_project = base.__module__.startswith(("orchestrator.", "thinker."))
        match ast.parse(inspect.getsource(base) if from_project else ""):
            case ast.Module(body=[ast.ClassDef(body=statements)]):
                yield from filter(None, starmap(_text, pairwise(statements)))


def _text(statement: ast.stmt, following: ast.stmt) -> tuple[str, str] | None:
    match statement, following:
        case (
            ast.AnnAssign(target=ast.Name(id=name)),
            ast.Expr(value=ast.Constant(value=str(text))),
        ):
            return name, inspect.cleandoc(text)
    return None
