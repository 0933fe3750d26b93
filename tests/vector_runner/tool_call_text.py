"""The areas of tool calls as text: injection, parser and stream_adapter."""

import json
import re
from collections.abc import Iterable
from typing import Any

import jsonschema
from vector_runner.cases import Area, Case
from vector_runner.upstream_events import upstream

from orchestrator.extensions.http_api.response_events import Events, ResponseHead, ResponseStream
from orchestrator.extensions.http_api.responses_request import translate_request
from orchestrator.extensions.http_api.stored_requests import HandedCall
from orchestrator.extensions.text_tool_calls.worker import parser as texts
from orchestrator.extensions.text_tool_calls.worker.inject import (
    format_call_block,
    join_instructions,
)
from orchestrator.extensions.text_tool_calls.worker.payload import ParserRules, build_parser_rules
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import ToolChoice, Usage

EXAMPLE = re.compile(r"<tool_call>(.*)</tool_call>")
WITHOUT_PARAMETERS = ("(no parameters)", '"arguments":"{}"}</tool_call>', ": {}")
DEEPEST = 3  # levels at which the vectors' examples fit their schema
OF_THE_ENGINE = ("invalid_json", "arguments are not JSON")  # messages that the vectors leave out


def injection(body: dict[str, Any]) -> dict[str, Any]:
    """Return the text before the model's instructions, and the tool choice."""
    try:
        request = translate_request(body)
    except ApiProblem as problem:
        return {"ok": False, **problem.build_openai_document()}
    text = format_call_block(request.tools, request.tool_choice)
    return {
        "ok": True,
        "developerInstructions": join_instructions(text, *request.instructions) or None,
        "toolChoice": _echoed(request.tool_choice, body.get("tool_choice")),
    }


def _echoed(choice: ToolChoice | None, given: Any) -> Any:
    """Return a tool choice as the request wrote it; a selector keeps its other fields."""
    if choice is None or choice.mode != "function":
        return None if choice is None else choice.mode
    function = {**given.get("function", {}), "name": choice.name}
    return {**given, "type": "function", "function": function}


def parser(given: dict[str, Any]) -> dict[str, Any]:
    """Return the events of each chunk and of the end, and a summary."""
    options = given["options"]
    reader = texts.TextCallParser(
        ParserRules(
            allowed=options.get("allowedTools", ()),
            strict=options.get("strictTools", {}),
            strict_default=options.get("strictFallback", False),
            schemas=options.get("toolSchemas", {}),
            repair=options.get("repairJson", True),
        )
    )
    steps = [_step(reader.feed(chunk)) for chunk in given["chunks"]]
    flush = _step(reader.finish())
    everything = [*steps, flush]
    errors = [error for step in everything for error in step["errors"]]
    return {
        "steps": steps,
        "flush": flush,
        "text": "".join(text for step in everything for text in step["visibleTextDeltas"]),
        "calls": [call for step in everything for call in step["parsedToolCalls"]],
        "error_types": [error["type"] for error in errors],
        "strict_failure": any(error.get("strict") for error in errors),
    }


def _step(events: Iterable[texts.Event]) -> dict[str, Any]:
    step: dict[str, Any] = {"visibleTextDeltas": [], "parsedToolCalls": [], "errors": []}
    for event in events:
        if isinstance(event, texts.TextDelta):
            step["visibleTextDeltas"].append(event.text)
        elif isinstance(event, texts.TextToolCall):
            step["parsedToolCalls"].append({"name": event.name, "arguments": event.arguments})
        else:
            step["errors"].append(_error(event))
            step["visibleTextDeltas"] += [event.shown] if event.shown else []
    return step


def _error(event: texts.ToolCallProblem) -> dict[str, Any]:
    problem = event.problem
    error: dict[str, Any] = {"type": problem.kind}
    if not {problem.kind, problem.message} & set(OF_THE_ENGINE):
        error["message"] = problem.message
    if problem.kind == "unknown_tool" and event.call is not None:
        error["name"] = event.call.name
    return error if problem.strict is None else {**error, "strict": problem.strict}


def stream_adapter(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events that the client gets."""
    body = given["request"]
    request = translate_request(body)
    stream = ResponseStream(ResponseHead(body["id"], body["model"], 0, {}))
    on = bool(request.tools) and (request.tool_choice or ToolChoice()).mode != "none"
    reader = (
        texts.TextCallParser(build_parser_rules(request.tools, request.tool_choice)) if on else None
    )
    sent: list[Any] = []
    for event in given["events"]:
        if event["type"] == "text_delta":
            delta = event["delta"]
            sent += _forwarded(stream, reader.feed(delta) if reader else (texts.TextDelta(delta),))
        elif event["type"] == "usage":
            usage = event["usage"]
            prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
            stream.usage = Usage(prompt=prompt, completion=completion)
        elif event["type"] == "finish":
            stream.reason = event["reason"]
    sent += _forwarded(stream, reader.finish() if reader else ())
    sent += stream.complete_response()
    return upstream(sent)


def _forwarded(stream: ResponseStream, events: Iterable[texts.Event]) -> Events:
    sent: Events = ()
    for event in events:
        if isinstance(event, texts.TextDelta):
            sent += stream.add_text(event.text)
        elif isinstance(event, texts.TextToolCall):
            sent += stream.add_call(HandedCall(id="", name=event.name, arguments=event.arguments))
        elif event.problem.strict:
            sent += stream.fail_response("strict tool_call parse failure")
        else:
            sent += stream.add_text(event.shown)
    return sent


def _beyond_required(case: Case, got: Any) -> bool:
    """The product checks the whole schema, the vector required keys only."""
    return "schema_mismatch" in got["error_types"] and not case.expected["strict_failure"]


def _as_written(case: Case, got: Any) -> bool:
    """The vector has a closing tag that the model did not write, or a second one."""
    answer = "".join(case.given["chunks"])
    if not {"unclosed_tag", "unclosed_tag_recovered"} & set(got["error_types"]):
        return False
    return got["text"] in answer and case.expected["text"] not in answer


def _list_own_lines(case: Case, got: Any) -> list[str]:
    """Return the lines of the instructions that only the product has; none if more differs."""
    text = "developerInstructions"
    if {**got, text: ""} != {**case.expected, text: ""}:
        return []
    theirs = {*str(case.expected[text]).splitlines()}
    return [line for line in str(got[text]).splitlines() if line not in theirs]


def _nameless(case: Case, got: Any) -> bool:
    """A tool has no parameter schema, and only lines about parameters differ."""
    lines = _list_own_lines(case, got)
    bare = any(not tool.parameters for tool in translate_request(case.given).tools)
    return bare and bool(lines) and all(line.endswith(WITHOUT_PARAMETERS) for line in lines)


def _read_example(line: str) -> Any:
    """The call of an example; None for any other line, and for one that is not JSON."""
    found = EXAMPLE.fullmatch(line)
    try:
        call = json.loads(found[1]) if found else None
        return call and {**call, "arguments": json.loads(call["arguments"])}
    except (ValueError, TypeError, KeyError):
        return None


def _shows_fitting_examples(case: Case, got: Any) -> bool:
    """Only examples of deep schemas differ, and ours fit them."""
    tools = {tool.name: tool.parameters for tool in translate_request(case.given).tools}
    calls = [_read_example(line) for line in _list_own_lines(case, got)]
    return bool(calls) and all(
        call is not None
        and _deep(tools[call["name"]]) > DEEPEST
        and jsonschema.Draft202012Validator(tools[call["name"]]).is_valid(call["arguments"])
        for call in calls
    )


def _escapes_names(case: Case, got: Any) -> bool:
    """Only examples of tools with odd names differ, and ours are JSON with the name."""
    odd = {tool.name for tool in translate_request(case.given).tools if {*tool.name} & {*'"\\'}}
    calls = [_read_example(line) for line in _list_own_lines(case, got)]
    return bool(calls) and all(call is not None and call["name"] in odd for call in calls)


def _deep(schema: Any) -> int:
    if not isinstance(schema, dict):
        return 0
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    return 1 + max(map(_deep, inner))


def _same_end(case: Case, got: Any) -> bool:
    """The events are equal except for their order."""
    if len(got) != len(case.expected):
        return False
    return bool(got[-2]["data"]["response"] == case.expected[-2]["data"].get("response"))


AREAS = {
    "injection": Area(
        injection,
        rules={
            "no-parameters": _nameless,
            "fitting-example": _shows_fitting_examples,
            "escaped-name": _escapes_names,
        },
    ),
    "parser": Area(
        parser,
        rules={
            "whole-schema": _beyond_required,
            "as-written": _as_written,
            "tag-in-argument": lambda _, got: any(
                texts.CLOSE in call["arguments"] for call in got["calls"]
            ),
            "no-arguments": lambda case, got: (
                "arguments_coerced" in got["error_types"]
                and '"arguments"' not in "".join(case.given["chunks"])
            ),
        },
    ),
    "stream_adapter": Area(stream_adapter, rules={"order-kept": _same_end}),
}
