"""Checks of the channels of the channel host, by what each chat system says of itself."""

import re
from collections.abc import Mapping

from orchestrator.agentsfile.channel_kinds import ChannelKind, channel_kinds
from orchestrator.agentsfile.chat_channels import HostedSettings
from orchestrator.agentsfile.chat_ids import no_chat
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import misplaced


def check_hosted(draft: Draft, environ: Mapping[str, str] | None) -> None:
    """Check options, ids and secrets of the channels that are on; close those with an error.

    ``environ`` is where secrets are looked up; None skips that.
    """
    kinds = channel_kinds()
    for name, kind in kinds.items():
        section = draft.channels.hosted.get(name)
        bound = [number for number, item in draft.bindings.items() if item.channel == name]
        if section is None:
            for number in bound[:1]:
                draft.warn(
                    ("bindings", number),
                    f"no message comes from {kind.title}, because there is no channels.{name};"
                    f" add it, or remove the binding",
                )
            continue
        if section.enabled:
            before = len(draft.problems)
            _options(draft, name, kind, section)
            _ids(draft, name, kind, section)
            if (
                len(draft.problems) > before
            ):  # its process could not begin, or would obey half of it
                closed = section.model_copy(update={"enabled": False})
                draft.channels = draft.channels.model_copy(update={name: closed})
            _secrets(draft, name, kind, environ)
            _places(draft, name, section)


def _places(draft: Draft, name: str, section: HostedSettings) -> None:
    """Warn of rules for chats that the chat system cannot have."""
    for chat_id in section.groups.chats:
        reason = no_chat(name, chat_id)
        if reason is not None:
            draft.warn(("channels", name, "groups", "chats", chat_id), reason)


def _options(draft: Draft, name: str, kind: ChannelKind, section: HostedSettings) -> None:
    given = section.options(kind)
    for option in section.__pydantic_extra__:
        if option not in kind.options:
            known = (*kind.options, *("enabled", "access", "allowlist", "groups", "variables"))
            advice = misplaced(option, known)
            draft.error(
                ("channels", name, option), f"channel '{name}': unknown field \"{option}\"{advice}"
            )
    for option, rule in kind.options.items():
        if option not in given:
            message = f"channel '{name}' has no \"{option}\"; set it: {rule.about}"
            draft.error(("channels", name), message)
        elif not re.fullmatch(rule.pattern, given[option]):
            message = f"channel '{name}': \"{option}\" must be {rule.must}"
            draft.error(("channels", name, option), message)


def _ids(draft: Draft, name: str, kind: ChannelKind, section: HostedSettings) -> None:
    for number, person in enumerate(section.allowlist):
        if not re.fullmatch(kind.id_pattern, person):
            draft.error(
                ("channels", name, "allowlist", number),
                f"channel '{name}': \"{person}\" is no id of {kind.title}; an id is such as"
                f' "{kind.id_example}"',
            )


def _secrets(
    draft: Draft,
    name: str,
    kind: ChannelKind,
    environ: Mapping[str, str] | None,
) -> None:
    if environ is None:
        return
    for secret, where in kind.secrets.items():
        if not environ.get(secret):
            draft.warn(
                ("channels", name),
                f"no message comes from {kind.title}, because {secret} is not set; {where}, and put"
                " it in keys.env in the home",
            )
