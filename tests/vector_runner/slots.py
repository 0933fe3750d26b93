"""The areas of prompt slots, run with the rules of Agently 4.0.7."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from vector_runner.cases import Area
from vector_runner.notation import decoded, encoded
from vector_runner.serialize import to_data, to_json, to_yaml

from orchestrator.extensions.agently.blocks import ROLES, LayoutStyle
from orchestrator.extensions.agently.container import Slots, fill_placeholders
from orchestrator.extensions.agently.message_layout import render_agently_messages
from orchestrator.extensions.agently.output_model import build_upstream_model
from orchestrator.extensions.agently.text_layout import render_agently_text
from orchestrator.extensions.agently.upstream import Compat
from thinker.formats.prompts.plain import to_plain_data
from thinker.formats.prompts.slots import SlotPrompt
from thinker.prompt.render.output_contract import output_model
from thinker.prompt.render.slot_sections import lower_slot_prompt

SEED: Compat = "4.0.7"  # the release that the vectors were recorded from


def run(given: dict[str, Any], compat: Compat | None = SEED) -> Any:
    """Run the call of a case; return its result or its error."""
    call = CALLS[given.get("call", "data")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # field names that shadow a model's attributes
        try:
            return call(given, compat)
        except ValidationError as error:
            return {"$raises": {"error": "ValidationError", "errors": _errors(error)}}
        except (KeyError, TypeError, ValueError) as error:
            kinds = (KeyError, TypeError, ValueError)
            kind = next(kind.__name__ for kind in kinds if isinstance(error, kind))
            return {"$raises": {"error": kind, "message": error.args[0]}}


def container(given: dict[str, Any], compat: Compat | None) -> Slots:
    """Return the container after the operations of a case, with its parents."""
    slots: Slots | None = None
    for generation in ("grandparent_ops", "parent_ops", "ops"):
        if generation in given or generation == "ops":
            slots = Slots(parent=slots, compat=compat)
            for op in given.get(generation, ()):
                _apply(slots, decoded(op))
    assert slots is not None
    return slots


def _apply(slots: Slots, op: dict[str, Any]) -> None:
    methods: dict[str, Callable[..., Slots]] = {"setitem": slots.put, "delitem": slots.delete}
    methods |= {"set": slots.set, "append": slots.append, "update": slots.update}
    methods[op["op"]](*(op[name] for name in ("key", "value", "mappings") if name in op))


def _style(given: dict[str, Any], compat: Compat | None) -> LayoutStyle:
    titles, roles, output = {}, dict(ROLES), "OUTPUT"
    for path, value in given.get("settings", {}).items():
        name = path.rpartition(".")[2]
        if ".role_mapping." in path:
            roles[name] = value
        elif name == "output":
            output = value
        else:
            titles["output" if name == "output_requirement" else name] = value
    roles |= given.get("kwargs", {}).get("role_mapping") or {}
    return LayoutStyle(titles, roles, output, compat)


def _reported(prompt: SlotPrompt, given: dict[str, Any]) -> Any:
    return {
        name: encoded(prompt.extra_slots if name == "$extra" else getattr(prompt, name))
        for name in given["report"]
    }


def _text(given: dict[str, Any], compat: Compat | None) -> str:
    sections = lower_slot_prompt(container(given, compat).build_prompt(), "case")
    return render_agently_text(sections, _style(given, compat)).text


def _messages(given: dict[str, Any], compat: Compat | None) -> Any:
    sections = lower_slot_prompt(container(given, compat).build_prompt(), "case")
    options = {k: v for k, v in given.get("kwargs", {}).items() if k != "role_mapping"}
    return list(render_agently_messages(sections, _style(given, compat), **options).messages)


def _requirement(given: dict[str, Any], compat: Compat | None) -> str:
    text = _text(given, compat)
    return text[text.index("[OUTPUT REQUIREMENT]:") : text.rindex("\n[OUTPUT]:")]


def _model(given: dict[str, Any], compat: Compat | None) -> Any:
    output = container(given, compat).build_prompt().output
    model = output_model(output, build_upstream_model) if compat else output_model(output)
    return {
        "model_name": model.__name__,
        "fields": {
            field.alias or name: {
                "required": field.is_required(),
                "description": field.description,
                "default": None if field.is_required() else encoded(field.default),
            }
            for name, field in model.model_fields.items()
        },
        "extra": model.model_config.get("extra"),
        "results": [_validated(model, entry) for entry in given["data"]],
    }


def _validated(model: type[BaseModel], entry: Any) -> Any:
    try:
        value = model.model_validate(entry)
    except ValidationError as error:
        return {"ok": False, "error": "ValidationError", "errors": _errors(error)}
    except (TypeError, AttributeError) as error:
        return {"ok": False, "error": type(error).__name__, "message": str(error)}
    return {"ok": True, "dump": encoded(value.model_dump(by_alias=True))}


def _errors(error: ValidationError) -> list[dict[str, Any]]:
    return [{"loc": list(item["loc"]), "type": item["type"]} for item in error.errors()]


def _written(given: dict[str, Any], compat: Compat | None) -> Any:
    inherited = given.get("kwargs", {}).get("inherit", False)
    return to_data(container(given, compat).values(inherited=inherited), compat)


CALLS: Mapping[str, Callable[[dict[str, Any], Compat | None], Any]] = {
    "PromptModel": lambda given, _: _reported(
        SlotPrompt.model_validate(decoded(given["fields"])), given
    ),
    "to_prompt_object": lambda given, compat: _reported(
        container(given, compat).build_prompt(), given
    ),
    "data": lambda given, compat: encoded(container(given, compat).values()),
    "data_local": lambda given, compat: encoded(container(given, compat).values(inherited=False)),
    "substitute_placeholder": lambda given, _: encoded(
        fill_placeholders(decoded(given["obj"]), decoded(given["mappings"]))
    ),
    "to_text": _text,
    "to_text_twice": lambda given, compat: [
        _text(given, compat),
        _text({**given, "kwargs": {}}, compat),
    ],
    "to_messages": _messages,
    "output_requirement_text": _requirement,
    "output_model": _model,
    "to_serializable_prompt_data": lambda given, compat: encoded(_written(given, compat)),
    "to_json_prompt": lambda given, compat: to_json(_written(given, compat)),
    "to_yaml_prompt": lambda given, compat: to_yaml(_written(given, compat)),
    "sanitize": lambda given, _: encoded(
        to_plain_data(decoded(given["value"]), keep_types=given.get("remain_type", False))
    ),
}
AREAS = {
    name: Area(run)
    for name in (
        "prompt_model.output_format",
        "prompt_model.chat_history",
        "prompt_model.attachment",
        "prompt_model.extra",
        "prompt_container.output_format",
        "container",
        "placeholder",
        "inheritance",
        "to_text",
        "to_messages",
        "strict_role_orders",
        "output_requirement",
        "output_model",
        "serialise",
        "sanitize",
    )
}
