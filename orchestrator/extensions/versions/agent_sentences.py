"""Say what changes for one agent of agents.json."""

from collections.abc import Callable, Iterator, Mapping

from pydantic import JsonValue

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.extensions.versions.field_sentences import (
    ABSENT,
    describe_difference,
    describe_fields,
    format_value,
    join_words,
    read_object,
    read_words,
)
from orchestrator.extensions.versions.text_sentences import choose_verb, count_words, describe_text
from thinker.protocol.messages import JsonObject

Describe = Callable[[str, JsonValue, JsonValue], Iterator[str]]
MODEL_FIELDS = ("llmProvider", "model")
PERIODS = {
    "tokensPerHour": "tokens an hour",
    "tokensPerDay": "tokens a day",
    "tokensPerMonth": "tokens a month",
    "usdPerHour": "an hour",
    "usdPerDay": "a day",
    "usdPerMonth": "a month",
}


def describe_new_agent(agent_id: str, fields: JsonObject) -> str:
    """Return what a new agent is."""
    facts = [f"its model is {_name_model(fields)}"]
    if fields.get("enabled") is False:
        facts.append("it is switched off")
    if budget := read_object(fields.get("budget")):
        limits = [_format_limit(key, value) for key, value in budget.items()]
        facts.append(f"it may use {join_words(limits)}")
    if allowed := read_words(fields.get("allowedTools")):
        facts.append(f"its tools are {join_words(allowed)}")
    if denied := read_words(fields.get("deniedTools")):
        facts.append(f"it may not use {join_words(denied)}")
    if asked := read_words(fields.get("approvals")):
        facts.append(f"calls of {join_words(asked)} wait for an approval")
    return f"agent {agent_id} is new: {'; '.join(facts)}"


def describe_agent(agent_id: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
    """Yield a sentence for each changed field of an agent."""
    before, after = _name_model(old), _name_model(new)
    if before != after:
        yield f"{agent_id}: model {before} → {after} from its next step"
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key), new.get(key)
        if key in MODEL_FIELDS or (was == now and type(was) is type(now)):
            continue
        describe = SENTENCES.get(key)
        if describe is not None:
            yield from describe(agent_id, was, now)
        else:
            yield from _describe_field(agent_id, key, was, now)


def _describe_field(agent_id: str, key: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    """Yield the change of a field; a missing value is the default if that is plain."""
    if isinstance(old, dict | list) or isinstance(new, dict | list):
        yield from describe_fields(f"{agent_id}: {key}", old, new)
        return
    default = DEFAULTS.get(key, ABSENT)
    was, now = (default if value is None else format_value(value) for value in (old, new))
    yield describe_difference(f"{agent_id}: {key}", was, now)


def _name_model(fields: JsonObject) -> str:
    provider = fields.get("llmProvider") or DEFAULT_PROVIDER
    model = fields.get("model")
    return f"{provider}/{model}" if model else str(provider)


def _describe_enabled(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    if (old is not False) != (new is not False):
        if new is False:
            yield f"{agent_id} is switched off: it takes no messages"
        else:
            yield f"{agent_id} is switched on: it takes messages"


def _describe_prompt(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    if not old:
        yield f"{agent_id} has a base prompt of its own, with {count_words(str(new))}"
    elif not new:
        yield f"{agent_id} loses its own base prompt, and gets its persona's or the default one"
    else:
        yield from describe_text(f"the base prompt of {agent_id}", str(old), str(new))


def _describe_definition(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    if not new:
        yield f"{agent_id} no longer uses the prompt definition {old}"
    else:
        yield f"{agent_id} uses the prompt definition {new}" + (f" instead of {old}" if old else "")


def _describe_allowed(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    before, after = read_words(old), read_words(new)
    if not after:
        if before:
            yield f"{agent_id} may use every tool, not only {join_words(before)}"
    elif not before:
        yield f"{agent_id} may use only the tools {join_words(after)}, not every tool"
    else:
        added = [name for name in after if name not in before]
        gone = [name for name in before if name not in after]
        if added:
            yield f"{agent_id} may also use {join_words(added)}"
        if gone:
            yield f"{agent_id} may no longer use {join_words(gone, 'or')}"


def _describe_denied(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    before, after = read_words(old), read_words(new)
    if added := [name for name in after if name not in before]:
        yield f"{agent_id} may not use {join_words(added, 'or')} any more"
    if gone := [name for name in before if name not in after]:
        yield f"{join_words(gone)} {choose_verb(gone)} not denied to {agent_id} any more"


def _describe_approvals(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    before, after = read_words(old), read_words(new)
    if added := [name for name in after if name not in before]:
        yield f"{agent_id}: every call of {join_words(added, 'or')} waits for an approval"
    if gone := [name for name in before if name not in after]:
        yield f"{agent_id}: calls of {join_words(gone, 'or')} run without an approval"


def _describe_skills(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    before, after = (["*"] if value is None else read_words(value) for value in (old, new))
    if after == ["*"]:
        yield f"{agent_id} may use every skill"
    elif not after:
        yield f"{agent_id} may use no skill"
    elif before != after:
        yield f"{agent_id} may use the skills {join_words(after)}, before {_name_skills(before)}"


def _name_skills(globs: list[str]) -> str:
    return "every skill" if globs == ["*"] else join_words(globs) or "none"


def _describe_budget(agent_id: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    before, after = read_object(old), read_object(new)
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        if was is None:
            yield f"{agent_id} may use at most {_format_limit(key, now)}"
        elif now is None:
            yield f"{agent_id} has no limit of {_format_limit(key, was)} any more"
        else:
            before_it = _format_limit(key, was)
            yield f"{agent_id} may use {_format_limit(key, now)} instead of {before_it}"


def _format_limit(key: str, value: JsonValue) -> str:
    number = value if isinstance(value, int | float) else 0
    if key.startswith("usd"):
        cents = f"{number:,.2f}"
        return f"${cents if float(cents.replace(',', '')) == number else number} {PERIODS[key]}"
    return f"{number:,} {PERIODS.get(key, key)}"


def _list_plain_defaults() -> dict[str, str]:
    fields = AgentDefinition.model_fields.values()
    plain = (field for field in fields if isinstance(field.default, str | int | float | bool))
    return {
        field.alias or "": f"{format_value(field.default) or ABSENT} (the default)"
        for field in plain
    }


DEFAULTS = _list_plain_defaults()
DEFAULT_PROVIDER = str(AgentDefinition.model_fields["llm_provider"].default)
SENTENCES: Mapping[str, Describe] = {
    "enabled": _describe_enabled,
    "systemPrompt": _describe_prompt,
    "prompt": _describe_definition,
    "allowedTools": _describe_allowed,
    "deniedTools": _describe_denied,
    "approvals": _describe_approvals,
    "skills": _describe_skills,
    "budget": _describe_budget,
}
