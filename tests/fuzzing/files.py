"""Files that people write: SKILL.md, front matter of definitions, agents.json."""

import json
from contextlib import suppress
from typing import Any

from fuzzing.target import Target, repeated
from hypothesis import strategies as st

from orchestrator.agentsfile import AgentsFileError, parse_agents_file
from thinker.formats import plain_yaml, skill_file
from thinker.formats.plain_yaml import YamlError
from thinker.formats.prompts.definition import parse_definition
from thinker.formats.regular_file import DEFINITION
from thinker.formats.skill_file import SkillError

SKILL_KEYS = (
    *("name: a", "description: d", "metadata:", "  keywords: [x, 1, 'y z']", "  keywords: x, y"),
    *("  priority: 3", "  trigger_config: {schedule: '* * * * *'}", "  max_steps: 2", "license: m"),
    *(
        "allowed-tools: a b",
        "compatibility: c",
        "  required_tools: [t]",
        "---",
        "...",
        "- a",
        "? b",
    ),
)
DEFINITION_KEYS = (
    *("toolDescription: d", "model: inherit", "includeChat: true", "tools: [a, {name: b}]"),
    *("variables: [{name: V, type: text}]", "reasoning: {effort: low}", "toolChoice: required"),
    *("prompt: [{type: include, prompt: p}]", "prompt: {layered: {identity: x}}", "hooks: [h]"),
)
ODD = st.text(alphabet="-:[]{}&*!|>'\"\n ab0?,%@`#\t=~\\\u0085\u2028\ufeff", max_size=12)
LINES = st.lists(st.sampled_from(SKILL_KEYS + DEFINITION_KEYS) | ODD | st.text(max_size=6))
FRONT = st.builds(
    lambda lines, end, body: f"---\n{chr(10).join(lines)}\n{end}\n{body}",
    LINES,
    st.sampled_from(("---", "--- ", "", "...")),
    st.text(max_size=20),
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
IDS = st.sampled_from(("work", "home", "*", "", "Work"))
AGENT = st.fixed_dictionaries(
    {"agentId": IDS | JSON},
    optional={
        "model": st.sampled_from(("m", "")) | JSON,
        "llmProvider": st.sampled_from(("groq", "demo", "opnai")) | JSON,
        "temperature": st.floats() | JSON,
        "env": JSON,
        "limits": JSON,
        "budget": st.dictionaries(st.sampled_from(("tokensPerDay", "x")), JSON),
        "approvals": JSON,
        "promt": JSON,
        "port": st.integers(-1, 70000) | JSON,
    },
)
BINDING = st.fixed_dictionaries(
    {"channel": st.sampled_from(("telegram", "*", "mail")) | JSON, "agentId": IDS},
    optional={"chatId": IDS | JSON, "threadId": JSON, "variables": JSON},
)
AGENTS = st.fixed_dictionaries(
    {"agents": st.lists(AGENT | JSON, max_size=3)},
    optional={
        "bindings": st.lists(BINDING | JSON, max_size=3) | JSON,
        "channels": st.dictionaries(st.sampled_from(("telegram", "api", "web")), JSON) | JSON,
        "mcpServers": st.dictionaries(st.text(max_size=4), JSON) | JSON,
        "models": st.dictionaries(st.text(max_size=4), JSON),
        "prices": JSON,
        "retention": JSON,
        "fallbackAgentId": IDS | JSON,
        "agentz": JSON,
    },
)


def _slipped(given: tuple[str, int, str]) -> bytes:
    """A text into which something else was typed."""
    text, at, typed = given
    place = at % (len(text) + 1)
    return (text[:place] + typed + text[place:]).encode("utf-8", "surrogatepass")


SLIPS = st.tuples(AGENTS.map(json.dumps), st.integers(0), st.sampled_from(("", ",", "{", "]", '"')))


def check_skill(text: str) -> None:
    """A skill, or our error that names the file; definitions likewise."""
    with suppress(SkillError):
        skill_file.parse_skill.__wrapped__(text, "a")
    parts = plain_yaml.split_front_matter(text)
    if parts is not None:
        with suppress(YamlError):
            fields = plain_yaml.parse_mapping(parts[0], "the front matter")
            definition, problems = parse_definition({"name": "a", "prompt": parts[1], **fields})
            assert (definition is None) == bool(problems)
            assert all(str(problem) for problem in problems)


def check_agents(data: bytes) -> None:
    """Usable, or refused; every problem has its line and a sentence."""
    try:
        problems = parse_agents_file(data).problems
    except AgentsFileError as error:
        problems = tuple(error.problems)
        assert problems
    lines = data.count(b"\n") + 1
    for problem in problems:
        assert 0 <= problem.line <= lines
        assert problem.message.strip()


def _skill(unit: str, size: int) -> Any:
    fields = repeated(unit, min(size, DEFINITION.max_bytes // 4))
    text = f"---\nname: a\ndescription: d\n{fields}\n---\nbody"
    return lambda: check_skill(text)


def _agents(unit: dict[str, Any], size: int) -> Any:
    count = max(1, size // len(json.dumps(unit)))
    agents = [{**unit, "agentId": f"a{number}"} for number in range(count)]
    data = json.dumps({"agents": agents, "bindings": []}, indent=1).encode()
    return lambda: check_agents(data)


TARGETS = {
    "skills": Target(
        FRONT | st.text() | ODD, check_skill, LINES.map("\n".join).filter(bool), _skill
    ),
    "agents": Target(SLIPS.map(_slipped) | st.binary(), check_agents, AGENT, _agents),
}
