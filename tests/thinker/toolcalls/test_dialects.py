"""The forms in which families of models write tool calls."""

import pytest

from thinker.protocol.messages import JsonObject
from thinker.toolcalls.dialects import clean_tool_name, read_calls
from thinker.toolcalls.markup import split_answer

A = {"a": "x, y"}
DSML = "｜DSML｜"  # noqa: RUF001 - as DeepSeek writes it
SEP = "<｜tool▁sep｜>"  # noqa: RUF001 - as above
BEGIN, END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"  # noqa: RUF001 - as above
JSON = '{"a":"x, y"}'
BLOCKS = {
    "hermes": '<tool_call>\n{"name": "t", "arguments": {"a": "x, y"}}\n</tool_call>',
    "hermes, fenced": f'<tool_call>```json\n{{"name": "t", "arguments": {JSON}}}\n```</tool_call>',
    "hermes, never closed": f'<tool_call>\n{{"name": "t", "arguments": {JSON}}}',
    "hermes, a list": f'<tool_call>[{{"name": "t", "arguments": {JSON}}}]</tool_call>',
    "qwen-coder": "<tool_call>\n<function=t>\n<parameter=a>\nx, y\n</parameter>\n</function>\n"
    "</tool_call>",
    "qwen-coder, bare": "<function=t>\n<parameter=a>\nx, y\n</parameter>\n</function>\n"
    "</tool_call>",
    "glm": "<tool_call>t\n<arg_key>a</arg_key>\n<arg_value>x, y</arg_value>\n</tool_call>",
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0"
    f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "kimi-k2, never closed": "<|tool_call_section_begin|><|tool_call_begin|>functions.t:0"
    f"<|tool_call_argument_begin|>{JSON}<|tool_call_end|>",
    "kimi-k3": '<|open|>tools<|sep|><|open|>call tool="t" index="1"<|sep|><|open|>argument key="a" '
    'type="string"<|sep|>x, y<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    "mistral": f'[TOOL_CALLS][{{"name":"t","arguments":{JSON}}}]',
    "mistral, newer": f"[TOOL_CALLS]t[ARGS]{JSON}",
    "mistral, with ids": f"[TOOL_CALLS]t[CALL_ID]abc123def[ARGS]{JSON}",
    "deepseek-v3": f"{BEGIN}function{SEP}t\n```json\n{JSON}\n```{END}",
    "deepseek-v3.1": f"{BEGIN}t{SEP}{JSON}{END}",
    "deepseek-v4": f'<{DSML}tool_calls>\n<{DSML}invoke name="t">\n<{DSML}parameter name="a" '
    f'string="true">x, y</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}tool_calls>',
    "deepseek-v4, plain bars": '<|DSML|tool calls><|DSML|invoke name="t"><|DSML|parameter name="a" '
    'string="true">x, y</|DSML|parameter></|DSML|invoke></|DSML|tool calls>',
    "minimax-m2": '<minimax:tool_call>\n<invoke name="t">\n<parameter name="a">x, y</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "minimax-m3": '<tool_call><invoke name="t"><a>x, y</a></invoke></tool_call>'.replace(
        "<", "]<]minimax[>[<"
    ),
    "claude": '<function_calls>\n<invoke name="t">\n<parameter name="a">x, y</parameter>\n'
    "</invoke>\n</function_calls>",
    "gpt-oss": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
    f"to=functions.t <|constrain|>json<|message|>{JSON}<|call|>",
    "gpt-oss, recipient first": "<|start|>assistant to=functions.t<|channel|>commentary json"
    f"<|message|>{JSON}<|call|>",
    "llama-3": f'<|python_tag|>{{"name": "t", "parameters": {JSON}}}<|eom_id|>',
    "llama-3, python": '<|python_tag|>t.call(a="x, y")',
    "llama-3, function": f"<function=t>{JSON}</function>",
    "gemma-4": '<|tool_call>call:t{a:<|"|>x, y<|"|>}<tool_call|>',
    "functiongemma": "<start_function_call>call:t{a:<escape>x, y<escape>}<end_function_call>",
    "cohere": f'<|START_ACTION|>[{{"tool_call_id":"0","tool_name":"t","parameters":{JSON}}}]'
    "<|END_ACTION|>",
    "lfm2": '<|tool_call_start|>[t(a="x, y")]<|tool_call_end|>',
    "olmo-3": '<function_calls>\nt(a="x, y")\n</function_calls>',
    "granite": f'<|tool_call|>[{{"name":"t","arguments":{JSON}}}]',
    "internlm": f'<|action_start|><|plugin|>\n{{"name":"t","parameters":{JSON}}}<|action_end|>',
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("before", ["", "Let me look. ", "One moment.\n\n"])
def test_a_call_is_read_in_every_form(block: str, before: str) -> None:
    """Whatever was said before; nothing of it is left for people."""
    parts = split_answer(before + block)
    calls = [call for one in parts.calls for call in read_calls(one)]
    assert [(clean_tool_name(call.name), call.arguments) for call in calls] == [("t", A)]
    assert parts.text.strip() == before.strip()


@pytest.mark.parametrize(
    ("block", "arguments"),
    [
        ("<function=t>\n<parameter=a>\n1\n</parameter>\n</function>", {"a": "1"}),
        ("<function=t>\n<parameter=a>\n[1]\n</parameter>\n</function>", {"a": "[1]"}),
        (
            '<invoke name="t"><parameter name="a" string="false">[1]</parameter></invoke>',
            {"a": [1]},
        ),
        (
            "<|tool_call>call:t{n:5, b:true, c:Rome, o:{k:1}}<tool_call|>",
            {"n": 5, "b": True, "c": "Rome", "o": {"k": 1}},
        ),
        (
            '<tool_call><invoke name="t"><o><k>v</k></o><l>1</l><l>2</l></invoke></tool_call>',
            {"o": {"k": "v"}, "l": ["1", "2"]},
        ),
        ("<tool_call>t\n</tool_call>", {}),
        ("<tool_call>t(a=[1, 'x'], b=None)</tool_call>", {"a": [1, "x"], "b": None}),
        (
            '<tool_call>{"function": {"name": "t", "arguments": "{\\"a\\":1}"}}</tool_call>',
            {"a": 1},
        ),
        (
            '<function=t>{"name": "other", "arguments": {}}</function>',
            {"name": "other", "arguments": {}},
        ),
    ],
)
def test_arguments_keep_their_types(block: str, arguments: JsonObject) -> None:
    """Text stays text where the form does not say what it is."""
    (inner,) = split_answer(block).calls
    (call,) = read_calls(inner)
    assert (call.name, call.arguments) == ("t", arguments)


def test_calls_within_a_value_are_no_calls() -> None:
    """A model may write a file about them."""
    inner = "Write\n<function=rm>\n<parameter=all>\nyes"
    block = f"<tool_call>\n<function=save>\n<parameter=text>\n{inner}\n</parameter>\n</function>\n"
    (call,) = read_calls(block)
    assert (call.name, call.arguments) == ("save", {"text": inner})


def test_several_calls_stand_in_one_block() -> None:
    """One after the other, with and without arguments."""
    block = (
        "<tool_call><function=a>\n<parameter=x>\n1\n</parameter>\n</function>\n<function=b>\n"
        "</function>\n<function=c>\n<parameter=y>\n2\n</parameter>\n</function>"
    )
    assert [(call.name, call.arguments) for call in read_calls(block)] == [
        ("a", {"x": "1"}),
        ("b", {}),
        ("c", {"y": "2"}),
    ]


@pytest.mark.parametrize(
    "block",
    [
        "<tool_call>{}</tool_call>",
        "<tool_call>{" + '"a' * 50_000,
        "<tool_call>" + "[{" * 50_000,
        "<|python_tag|>" + "(" * 8000,
        "<|python_tag|>print('x')",
        "<|tool_call>call:t{" + "a:b," * 50_000,
        '<tool_call>{"name": 5}</tool_call>',
    ],
)
def test_what_is_no_call_is_none(block: str) -> None:
    """Nor does it raise or take long."""
    assert read_calls(block) == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("functions.add:0", "add"),
        ("default_api:add", "add"),
        ("add<|channel|>commentary", "add"),
        ("functions.", "functions."),
        ("mail.send", "mail.send"),
        (" add ", "add"),
    ],
)
def test_names_lose_what_templates_put_around_them(written: str, name: str) -> None:
    """A dot within a name stays."""
    assert clean_tool_name(written) == name
