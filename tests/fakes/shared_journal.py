"""Daemons with homes of their own, ``one`` and ``two``, on one journal in PostgreSQL."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.postgresql import database_of

from thinker.protocol.messages import JsonObject

AgentsFor: TypeAlias = Callable[[HeldModel], JsonObject | None]


@asynccontextmanager
async def working(
    folder: Path, agents: AgentsFor = two_agents
) -> AsyncIterator[tuple[FakeBotApi, HeldModel, RunningDaemon]]:
    """A daemon that is ready."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(_home(folder, "one"), agents(model), bot, _env(folder)) as daemon,
    ):
        yield bot, model, daemon


@asynccontextmanager
async def pair(
    folder: Path, agents: AgentsFor = two_agents, others: AgentsFor = two_agents
) -> AsyncIterator[tuple[FakeBotApi, HeldModel, RunningDaemon, RunningDaemon]]:
    """A daemon that is ready, and one that stands by."""
    async with working(folder, agents) as (bot, model, first):
        config, home, env = others(model), _home(folder, "two"), _env(folder)
        async with running_daemon(home, config, bot, env, awaits="standing_by") as second:
            yield bot, model, first, second


def _home(folder: Path, name: str) -> Path:
    home = folder / name
    home.mkdir()
    return home


def _env(folder: Path) -> dict[str, str]:
    return {"ORCHESTRATOR_STORE": database_of(folder)}
