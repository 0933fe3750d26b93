"""Readings of the daemon's present state."""

import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import get_args

from orchestrator import __version__
from orchestrator.channel_api import ChannelStatus
from orchestrator.extensions.telemetry import metric_catalog as catalog
from orchestrator.extensions.telemetry.metric_families import Readings, Series
from orchestrator.processes.supervisor import Slot
from orchestrator.tools.remote_tools import KnownServer, State

STATES: tuple[State, ...] = get_args(State)


def build_worker_readings(slots: Mapping[str, Slot]) -> Readings:
    """Return the agents' restarts, without short-lived subagents."""
    return Readings(
        catalog.RESTARTS,
        {
            (name,): slot.history.restarts
            for name, slot in slots.items()
            if slot.spec.parent is None
        },
    )


def build_channel_readings(found: Iterable[ChannelStatus], now: float) -> list[Readings]:
    """Return the health of the channels; ``now`` in seconds since the epoch."""
    known = list(found)
    ages: Series = {
        (one.name,): max(0.0, now - one.last_ok) for one in known if one.last_ok is not None
    }
    return [
        Readings(catalog.CHANNEL_UP, {(one.name,): int(one.state == "ok") for one in known}),
        Readings(catalog.CHANNEL_AGE, ages),
        Readings(catalog.CHANNEL_REFUSED, {(one.name,): one.refused for one in known}),
    ]


def build_server_readings(found: Iterable[KnownServer]) -> Readings:
    states: Series = {
        (server.name, state): int(server.state == state) for server in found for state in STATES
    }
    return Readings(catalog.TOOL_SERVER, states)


def build_process_readings(started: float, journal_bytes: int) -> list[Readings]:
    """Return the readings of this process; ``started`` in seconds since the epoch."""
    return [
        Readings(catalog.JOURNAL, {(): journal_bytes}),
        Readings(catalog.BUILD, {(__version__, platform.python_version()): 1}),
        Readings(catalog.STARTED, {(): started}),
        Readings(catalog.RESIDENT, {(): _read_resident_bytes()}),
    ]


def _read_resident_bytes() -> int:
    """Return the resident memory in bytes (proc_pid_statm(5), the second field)."""
    pages = Path("/proc/self/statm").read_bytes().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
