"""Say what a changed prompt changes, and for which agents."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from orchestrator.agentsfile import AgentDefinition
from orchestrator.extensions.versions.field_sentences import describe_fields, join_words
from orchestrator.extensions.versions.text_sentences import choose_verb, describe_text
from orchestrator.settings import COMPACTION, DEFAULT_PROMPT, FACT_EXTRACTION, SMALL_PROMPT
from thinker.formats.prompts.definition_files import load_definition_file
from thinker.protocol.messages import JsonObject

TEMPLATES = {
    DEFAULT_PROMPT: "the base prompt of agents without their own",
    SMALL_PROMPT: "the base prompt of agents for small models",
    COMPACTION: "the prompt for summaries",
    FACT_EXTRACTION: "the prompt for facts",
}


def describe_prompt_change(
    name: str, old: str | None, new: str | None, users: Sequence[str]
) -> list[str]:
    """Return the changed fields of a definition, and the agents (``users``) that have it."""
    file = Path(name).name
    if file in TEMPLATES:
        return describe_text(TEMPLATES[file], old, new)
    subject = f"prompt {Path(name).stem}"
    before, after = _read_fields(name, old), _read_fields(name, new)
    found: list[str] = []
    if old is not None and new is not None and before is not None and after is not None:
        texts = before.pop("prompt", ""), after.pop("prompt", "")
        first, second = texts
        if isinstance(first, str) and isinstance(second, str):
            found += describe_text(f"the text of {subject}", first, second)
        else:
            found += describe_fields(f"{subject}: prompt", *texts)
        found += describe_fields(f"{subject}: ", before, after)
        found = found or describe_text(subject, old, new)
    else:
        found = describe_text(subject, old, new)
    if found:
        verb = choose_verb(users, "uses", "use")
        found.append(
            f"{join_words(users)} {verb} it, from the next answer on"
            if users
            else "no agent has it as its own prompt; others may include it or use it as a tool"
        )
    return found


def describe_persona_change(
    agent: AgentDefinition | None, old: str | None, new: str | None
) -> list[str]:
    """Return what changes in the persona of an agent, or of one that agents.json does not have."""
    owner = "an agent that agents.json does not have" if agent is None else agent.agent_id
    found = describe_text(f"the persona of {owner}", old, new)
    if found and agent is not None and (agent.system_prompt or agent.prompt):
        field = "systemPrompt" if agent.system_prompt else "prompt"
        found.append(f'{owner} has a "{field}" in agents.json, which is used instead')
    return found


def _read_fields(name: str, text: str | None) -> dict[str, JsonValue] | None:
    """Return the fields of a definition; None if it has no fields, or cannot be read."""
    if text is None:
        return None
    found = load_definition_file(Path(name), lambda _path, _kind: text).definition
    if found is None:
        return None
    fields: JsonObject = found.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if isinstance(found.prompt, str):
        fields["prompt"] = found.prompt
    return {key: value for key, value in fields.items() if key != "name"}
