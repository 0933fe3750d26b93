"""Checks across agents.json: duplicate names, unknown names, missing keys."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator import installed
from orchestrator.agentsfile.channel_kinds import explain_broken_kind, split_account
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.hosted_checks import check_hosted
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.mounting import list_channel_names, load_models
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.agentsfile.provider_addresses import check_addresses
from orchestrator.errors import FAULTS, describe_fault


def run_checks(
    draft: Draft, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> None:
    """Run all checks, those of extensions last.

    ``environ`` provides the keys and ``home`` is the daemon's; None skips the checks of either.
    """
    declared = draft.list_declared_ids()
    _check_unique_agents(draft)
    _check_unique_ports(draft)
    _check_bindings(draft, declared)
    _check_fallback(draft, declared)
    check_addresses(draft)
    check_hosted(draft, environ)
    _run_extension_checks(draft, environ, home)
    _check_idle_fields(draft)


def _run_extension_checks(
    draft: Draft, environ: Mapping[str, str] | None, home: Path | None
) -> None:
    """Run the checks of bundled extensions and of third-party ones that run in the daemon.

    Extensions that add parts to the file come first, since they may drop some.
    """
    found = installed.find_installed()
    for extension in sorted(
        found.own.values(), key=lambda one: not (one.file_fields or one.get_channels_model())
    ):
        extension.check_agents_file(draft, environ, home)
    for name, extension in found.foreign.items():
        if name in draft.extensions:
            known = len(draft.problems)
            try:
                extension.check_agents_file(draft, environ, home)
            except FAULTS as error:
                text = f"its settings cannot be checked: {describe_fault(error)}"
                draft.add_warning(("extensions", name), text)
            for at, one in enumerate(draft.problems[known:], known):
                draft.problems[at] = replace(one, message=f"extension '{name}': {one.message}")


def _check_idle_fields(draft: Draft) -> None:
    """Warn about agent fields whose extension does not run."""
    for field, name in load_models().brought.items():
        for number, agent in draft.agents.items():
            if field in agent.model_fields_set and name not in draft.extensions:
                key = type(agent).model_fields[field].alias or field
                draft.add_warning(
                    ("agents", number, key),
                    f"agent '{agent.agent_id}': \"{key}\" has no effect, because the extension"
                    f' \'{name}\' does not run; add "extensions": {{ "{name}": {{}} }}',
                    agent.agent_id,
                )


def _check_unique_agents(draft: Draft) -> None:
    first: dict[str, int] = {}
    for number, agent in list(draft.agents.items()):
        name = agent.agent_id
        if name in first:
            draft.add_error(
                ("agents", number, "agentId"),
                f"agent '{name}' is defined a second time (first in line "
                f"{draft.find_line('agents', first[name], 'agentId')}); rename or remove one",
                name,
            )
            del draft.agents[number]
        else:
            first[name] = number


def _check_unique_ports(draft: Draft) -> None:
    holders: dict[int, str] = {}
    for number, agent in list(draft.agents.items()):
        if not agent.enabled or not agent.port:
            continue
        if agent.port in holders:
            draft.add_error(
                ("agents", number, "port"),
                f"agent '{agent.agent_id}' has port {agent.port} of agent "
                f"'{holders[agent.port]}'; choose another or 0",
                agent.agent_id,
            )
            del draft.agents[number]
        else:
            holders[agent.port] = agent.agent_id


def _check_bindings(draft: Draft, declared: set[str]) -> None:
    channels = list_channel_names()
    for number, binding in draft.bindings.items():
        path = ("bindings", number)
        what = f"binding {binding.place}"
        if binding.agent_id not in declared:
            draft.add_error(  # the binding stays, so that no broader binding answers the chat
                (*path, "agentId"),
                f"{what} names the unknown agent '{binding.agent_id}'"
                + suggest_name(binding.agent_id, declared, "add this agent or remove the binding"),
            )
        system, account = split_account(binding.channel)
        if account and system in channels:
            known = binding.channel in draft.channels.list_sections()
            if not known and system not in draft.wrong_channels:  # its accounts were read
                text = _describe_unknown_account(draft, system, account)
                draft.add_error((*path, "account"), f"{what} {text}")
        elif binding.channel not in channels:
            missing = explain_entry_extension("channels", binding.channel)
            if explain_broken_kind(binding.channel):
                missing = f'names the channel "{binding.channel}", which cannot be used'
            unknown = f'names the unknown channel "{binding.channel}"'
            draft.add_warning(
                (*path, "channel"),
                f"{what} {missing or unknown + suggest_name(binding.channel, channels)}",
            )


def _describe_unknown_account(draft: Draft, system: str, account: str) -> str:
    section = draft.channels.list_chat_channels().get(system)
    known = () if section is None else section.accounts
    advice = suggest_name(account, known, f'add "{account}": {{}} there, or remove the binding')
    return f"names the account '{account}', which channels.{system}.accounts does not have{advice}"


def _check_fallback(draft: Draft, declared: set[str]) -> None:
    name = draft.fallback_agent_id
    if name is None:
        return
    if name not in declared:
        draft.add_error(
            ("fallbackAgentId",),
            f"\"fallbackAgentId\" names the unknown agent '{name}'" + suggest_name(name, declared),
        )
    if all(agent.agent_id != name for agent in draft.agents.values()):
        draft.fallback_agent_id = None
