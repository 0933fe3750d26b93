"""Run attacks one after another on one daemon."""

import re
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.extensions.selftest.attacks import (
    cross_chat,
    foreign_files,
    hands,
    http_requests,
    injection,
    jails,
    lasting_changes,
    operators,
    page_attacks,
    quotations,
    rewinds,
    shown_text,
)
from orchestrator.extensions.selftest.attacks.attack_world import Attack, run_attacked_daemon
from orchestrator.extensions.selftest.crash.daemon_process import StartDaemon

AREAS: Mapping[str, tuple[Attack, ...]] = {
    "quoting": quotations.ATTACKS,
    "injection": injection.ATTACKS,
    "standing": lasting_changes.ATTACKS,
    "cross-chat": cross_chat.ATTACKS,
    "operators": operators.ATTACKS,
    "shown text": shown_text.ATTACKS,
    "http": http_requests.ATTACKS,
    "jails": jails.ATTACKS,
    "hands": hands.ATTACKS,
    "rewind": rewinds.ATTACKS,
    "files": foreign_files.ATTACKS,
    "page": page_attacks.ATTACKS,
}


@dataclass(frozen=True)
class AttackResult:
    """The result of an attack; ``reached`` is empty if it held."""

    area: str
    name: str
    defence: str
    reached: str


def select_attacks(pattern: str = "") -> list[tuple[str, Attack]]:
    """Return the attacks whose area or name contains a regular expression."""
    wanted = re.compile(pattern)
    return [
        (area, attack)
        for area, attacks in AREAS.items()
        for attack in attacks
        if wanted.search(f"{area}: {attack.name}")
    ]


async def run_attacks(
    attacks: list[tuple[str, Attack]],
    folder: Path,
    python: str = sys.executable,
    start: StartDaemon | None = None,
) -> AsyncIterator[AttackResult]:
    """Yield the result of each attack on a daemon that this Python runs in the folder.

    ``start`` starts the daemon; by default it is executed.
    """
    async with run_attacked_daemon(folder, python, start) as world:
        for area, attack in attacks:
            yield AttackResult(area, attack.name, attack.defence, await attack.run(world))
            await world.deny_all()
