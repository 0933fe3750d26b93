"""Load the parts of agents.json that belong to extensions: channels, settings, agent fields.

A part of a bundled extension that is not installed causes a warning; all else still works.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import JsonValue

from orchestrator import installed
from orchestrator.agentsfile.agents_file import ExtensionSettings
from orchestrator.agentsfile.channel_accounts import load_accounts
from orchestrator.agentsfile.channel_kinds import explain_broken_kind, load_channel_kinds
from orchestrator.agentsfile.chat_channels import ChatChannel, HostedSettings
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.mounting import MountedModels, load_models
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.agentsfile.valid_parts import load_section, read_object_at
from orchestrator.extras import find_pip
from thinker.protocol.messages import JsonObject


def load_channels(draft: Draft, value: JsonObject) -> None:
    """Validate `channels` of the file ``value``; switch off a channel with an error."""
    sections = read_object_at(draft, value, "channels")
    model, kinds = load_models().channels, load_channel_kinds()
    found: dict[str, Any] = {name: field.default for name, field in model.model_fields.items()}
    accounts = dict[str, ChatChannel]()
    for name, section in sections.items():
        path = ("channels", name)
        if name not in found and name not in kinds:
            if not _warn_about_missing(draft, "channels", name):
                draft.add_error(path, _describe_unknown_channel(name, (*found, *kinds)))
            continue
        kind = type(found[name]) if name in found else HostedSettings
        channel = load_section(draft, path, section, kind, f"channel '{name}'")
        found[name] = channel or kind(enabled=False)
        if channel is None:
            draft.wrong_channels.add(name)
        elif isinstance(channel, ChatChannel):
            accounts.update(load_accounts(draft, name, section, channel))
    draft.channels = model.model_construct(**(found | accounts))


def drop_missing_fields(
    draft: Draft,
    at: JsonPath,
    item: JsonValue,
    subject: tuple[str, str | None],
    explain: Callable[[str], str],
) -> JsonValue:
    """Return an agent without the fields of missing extensions, each with a warning.

    ``subject`` is as for `validate_part`; ``explain`` says which extension a field lacks.
    """
    if not isinstance(item, dict) or not any(map(explain, item)):
        return item
    missing = {name: explain(name) for name in item}
    for name, text in missing.items():
        if text:
            draft.add_warning((*at, name), f'{subject[0]}: "{name}" {text}', subject[1])
    return {name: value for name, value in item.items() if not missing[name]}


def _warn_about_missing(draft: Draft, place: Literal["channels", "extensions"], name: str) -> bool:
    """Warn about an entry of a missing bundled extension; return whether it is one."""
    missing = explain_entry_extension(place, name)
    if missing:
        draft.add_warning((place, name), f"{place}.{name} {missing}")
    return bool(missing)


def _describe_unknown_channel(name: str, known: Iterable[str]) -> str:
    if problem := explain_broken_kind(name):
        return f"channel '{name}' cannot be used: {problem}"
    advice = f"install its package with {find_pip()} and restart the daemon, or remove it"
    return f"unknown channel '{name}'" + suggest_name(name, known, advice)


def load_extensions(draft: Draft, value: JsonObject) -> None:
    """Validate `extensions` of the file ``value``; drop one with an error."""
    models, found = load_models(), dict[str, Any]()
    for name, section in read_object_at(draft, value, "extensions").items():
        path, model = ("extensions", name), models.settings.get(name)
        if model is None:
            if not _warn_about_missing(draft, "extensions", name):
                draft.add_error(path, _describe_unknown_extension(name, models))
            continue
        settings = load_section(draft, path, section, model, f"extension '{name}'")
        if settings is not None:
            found[name] = settings
    draft.extensions = ExtensionSettings.model_construct(**found)


def _describe_unknown_extension(name: str, models: MountedModels) -> str:
    """Return the reason why an extension that the file names cannot run."""
    found = installed.find_installed()
    if problem := found.broken.get(name) or models.rejected.get(name):
        return f"extension '{name}' cannot be used: {problem}; correct or uninstall it"
    if name in found.channels:
        return f"extension '{name}' is a channel; move its settings to channels.{name}"
    advice = suggest_name(name, models.settings, "install it or remove it")
    return f"extension '{name}' is not installed{advice}"
