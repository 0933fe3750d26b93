"""Checks of the channels in the channel host, by the rules in each one's `channel.json`."""

import re
from collections.abc import Mapping

from orchestrator import installed
from orchestrator.agentsfile.channel_accounts import (
    list_account_channels,
    list_other_accounts,
    release_default,
)
from orchestrator.agentsfile.channel_kinds import (
    COMMON_FIELDS,
    ChannelKind,
    load_channel_kinds,
    name_secret,
    split_account,
)
from orchestrator.agentsfile.chat_channels import HostedSettings
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import suggest_place
from orchestrator.extras import explain_missing, explain_missing_extension

HOST = "channel_folders"  # the extension that runs the processes of channels


def check_hosted(draft: Draft, environ: Mapping[str, str] | None) -> None:
    """Check the options, ids, secrets and libraries of the channels that are on.

    Channels with an error are switched off. Secrets are looked up in ``environ``; None skips what
    depends on the machine.
    """
    kinds = load_channel_kinds()
    for system, kind in kinds.items():
        section = draft.channels.hosted_channels.get(system)
        bound = [number for number, item in draft.bindings.items() if item.channel == system]
        if section is None:
            for number in bound[:1]:
                draft.add_warning(
                    ("bindings", number),
                    f"{kind.title} is off: agents.json has no channels.{system};"
                    f" add it, or remove the binding",
                )
            continue
        known = environ is None or any(environ.get(secret) for secret in kind.secrets)
        lacks = kind.options.keys() - section.format_options(kind).keys()
        release_default(draft, system, usable=known and not lacks)
        for name in list_account_channels(draft, system):
            _check_account(draft, name, kind, environ)


def _check_account(
    draft: Draft, name: str, kind: ChannelKind, environ: Mapping[str, str] | None
) -> None:
    section = draft.channels.hosted_channels[name]
    if not section.enabled:
        return
    before = len(draft.problems)
    _check_options(draft, name, kind, section)
    _check_ids(draft, name, kind, section)
    if len(draft.problems) > before:  # its process would not start, or ignore half of the settings
        draft.close_channel(name)
    if environ is not None:
        _check_machine(draft, name, kind, environ)


def _check_options(draft: Draft, name: str, kind: ChannelKind, section: HostedSettings) -> None:
    given = section.format_options(kind)
    for option in section.__pydantic_extra__:
        if option not in kind.options:
            advice = suggest_place(option, (*kind.options, *COMMON_FIELDS))
            draft.add_error(
                ("channels", name, option), f"channel '{name}': unknown field \"{option}\"{advice}"
            )
    for option, rule in kind.options.items():
        if option not in given:
            message = f"channel '{name}' has no \"{option}\"; set it: {rule.about}"
            draft.add_error(("channels", name), message)
        elif not re.fullmatch(rule.pattern, given[option]):
            message = f"channel '{name}': \"{option}\" must be {rule.must}"
            draft.add_error(("channels", name, option), message)


def _check_ids(draft: Draft, name: str, kind: ChannelKind, section: HostedSettings) -> None:
    places: dict[JsonPath, str] = {("roles", person): person for person in section.roles}
    places |= {("allowlist", number): person for number, person in enumerate(section.allowlist)}
    for place, person in places.items():
        if not re.fullmatch(kind.id_pattern, person):
            draft.add_error(
                ("channels", name, *place),
                f"channel '{name}': \"{person}\" is not an id of {kind.title}; it looks like"
                f' "{kind.id_example}"',
            )


def _check_machine(draft: Draft, name: str, kind: ChannelKind, environ: Mapping[str, str]) -> None:
    """Warn about missing libraries and secrets."""
    missing, (_, account) = explain_missing(kind.requires, kind.extra), split_account(name)
    if HOST not in installed.list_names():
        missing = f"it needs {explain_missing_extension(HOST)}"
    title = f"{kind.title} ({name})" if account else kind.title
    if missing:
        draft.add_warning(("channels", name), f"{title} is off: {missing}")
    for variable, where in kind.secrets.items():
        secret = name_secret(variable, name)
        if not environ.get(secret):
            other = list_other_accounts(draft, name)
            draft.add_warning(
                ("channels", name),
                f"{title} is off: {secret} is not set; {where}, and put"
                f" it in keys.env in the home{other}",
            )
