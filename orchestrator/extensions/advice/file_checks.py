"""All advice about an agents.json.

Where: is agents.json checked for likely mistakes?
"""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.agentsfile.draft import Draft
from orchestrator.extensions.advice.account_checks import check_account_secrets
from orchestrator.extensions.advice.agent_checks import (
    check_joint_memory,
    check_unbound_agents,
    check_weakened_jails,
)
from orchestrator.extensions.advice.binding_checks import (
    check_binding_order,
    check_bindings,
    check_bound_ids,
)
from orchestrator.extensions.advice.channel_checks import (
    check_alerts,
    check_channels,
    check_hosted_rules,
)
from orchestrator.extensions.advice.group_checks import check_groups
from orchestrator.extensions.advice.model_checks import check_keys, check_prefixes
from orchestrator.extensions.advice.money_checks import check_money
from orchestrator.extensions.advice.unencrypted import check_plain_addresses


def check_file(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn about everything that may not do what its author expects.

    ``environ`` provides the keys and ``home`` is the daemon's; None skips the checks of keys.
    """
    check_bindings(draft)
    check_binding_order(draft)
    check_unbound_agents(draft)
    check_channels(draft)
    check_alerts(draft)
    check_groups(draft)
    check_hosted_rules(draft)
    check_bound_ids(draft)
    check_plain_addresses(draft)
    check_money(draft)
    check_weakened_jails(draft)
    check_joint_memory(draft)
    if environ is not None:
        check_keys(draft, environ, home)
        check_account_secrets(draft, environ)
        check_prefixes(draft)
