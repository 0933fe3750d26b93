"""Say what a changed skill changes."""

from pydantic import JsonValue

from orchestrator.extensions.versions.field_sentences import describe_fields
from orchestrator.extensions.versions.text_sentences import describe_text
from orchestrator.schedules.describe import describe_schedule
from thinker.formats.skill_file import SkillError, SkillFile, parse_skill

SCHEDULES = ("schedule", "cron", "cronExpression", "cron_expression")
FIELDS = {
    "keywords": "its keywords",
    "required_tools": "the tools that it needs",
    "allowed_tools": "the tools that it names",
    "priority": "its priority",
    "agent": "the agent of its schedule",
    "max_steps": "the steps of a scheduled run",
    "effort": "the effort of a scheduled run",
    "silent": "kept out of prompts",
    "execution_plan": "its plan",
}


def describe_skill_change(directory: str, old: str | None, new: str | None) -> list[str]:
    """Return a sentence for each changed part of the SKILL.md in a directory of this name."""
    before, after = (None if text is None else _read_skill(text, directory) for text in (old, new))
    subject = f"skill {directory}"
    if before is None or after is None:
        found = describe_text(subject, old, new)
        if after is not None and after.trigger_config is not None:
            found.append(f"{subject} runs {describe_skill_schedule(after.trigger_config)}")
        return found
    found = _describe_trigger_change(subject, before, after)
    for field, words in FIELDS.items():
        was, now = (skill.model_dump(mode="json")[field] for skill in (before, after))
        found += describe_fields(f"{subject}: {words}", was, now)
    if before.description != after.description:
        found += describe_text(
            f"the description of {subject}", before.description, after.description
        )
    found += describe_text(f"the text of {subject}", before.instructions, after.instructions)
    return found or describe_text(subject, old, new)


def describe_skill_schedule(fields: JsonValue) -> str:
    """Return when a skill or task runs, from the fields of its trigger as they are written."""
    if not isinstance(fields, dict):
        return "when it is asked for"
    minutes = fields.get("interval_minutes", fields.get("intervalMinutes"))
    written = next((fields[key] for key in SCHEDULES if fields.get(key)), None)
    if written is None and minutes:
        written = f"every {minutes}m"
    zone = fields.get("timezone")
    if written is None:
        return f"at {fields['at']}" if fields.get("at") else "by its schedule"
    said = describe_schedule(str(written), zone if isinstance(zone, str) else None)
    return said if said.startswith(("every", "once")) else f"at {said}"


def _read_skill(text: str, directory: str) -> SkillFile | None:
    try:
        return parse_skill(text, directory)
    except SkillError:
        return None


def _describe_trigger_change(subject: str, before: SkillFile, after: SkillFile) -> list[str]:
    was, now = before.trigger_config, after.trigger_config
    if was == now:
        return []
    if now is None:
        return [f"{subject} runs by no schedule any more; it ran {describe_skill_schedule(was)}"]
    if was is None:
        return [f"{subject} runs {describe_skill_schedule(now)}"]
    times = describe_skill_schedule(was), describe_skill_schedule(now)
    if times[0] != times[1]:
        return [f"{subject} runs {times[1]} instead of {times[0]}"]
    return list(describe_fields(f"{subject}: schedule", was, now))
