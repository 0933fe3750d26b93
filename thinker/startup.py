"""Run one worker, configured by its environment.

Under a supervisor the worker serves the inherited socket; run by hand, standard input and output.
"""

import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Literal, TextIO

import anyio
import structlog

from thinker.agent import Agent
from thinker.extension import WorkerView, list_extensions
from thinker.jail.hardening import harden_process
from thinker.jail.kernel import die_with_parent
from thinker.jail.worker_jail import NO_JAIL, PreparedJail, WorkerJail, prepare_jail
from thinker.models.choose import (
    choose_embeddings,
    choose_model,
    choose_small_model,
    find_served_endpoint,
)
from thinker.protocol import logs
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.peer import connect_peer
from thinker.protocol.sandbox import SandboxReport
from thinker.server import WorkerServer
from thinker.terminal import run_terminal
from thinker.worker_errors import EXIT_CONFIG, WorkerConfigError

EXIT_INTERRUPTED = 128 + signal.SIGINT  # as a shell reports Ctrl-C
log = structlog.get_logger()


def run_process(process: Callable[[], Awaitable[int]]) -> int:
    """Run the main coroutine of a worker process; return its exit code."""
    try:
        return anyio.run(process)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


async def run_worker(environ: Mapping[str, str], prepared: PreparedJail | None = None) -> int:
    """Run the worker that the environment describes; return an exit code of sysexits.h.

    ``prepared`` is the jail that this process is already in, if any.
    """
    try:
        settings = ThinkerSettings.read(environ)
    except ValueError as error:
        sys.stderr.write(f"invalid worker environment:\n{error}\n")
        return EXIT_CONFIG
    logs.configure_logging(settings.log_level)
    with logs.bound(agent_id=settings.agent_id):
        try:
            if settings.peer_fd is not None:
                die_with_parent(os.getppid())
            await serve_worker(settings, environ, confine_worker(settings, prepared))
        except WorkerConfigError as error:
            log.error("configuration", problem=str(error))
            return EXIT_CONFIG
    return 0


def confine_worker(settings: ThinkerSettings, prepared: PreparedJail | None) -> WorkerJail:
    """Close the jail of a worker with a supervisor; a worker run by hand has no jail."""
    for extension in list_extensions():  # a jailed process cannot read their code
        extension.prepare_worker(settings)
    if settings.peer_fd is None:
        return NO_JAIL
    if settings.sandbox == "off":
        harden_process()
        return WorkerJail(SandboxReport("off", 'agents.json has "sandbox": "off"'))
    prepared = prepared or prepare_jail(network=settings.sandbox == "hook-network")
    chosen = settings.list_chosen_folders()
    return prepared.close_jail(settings.list_own_paths(), Path.cwd(), chosen)


async def serve_worker(
    settings: ThinkerSettings, environ: Mapping[str, str], jail: WorkerJail = NO_JAIL
) -> None:
    """Serve the wire, or a terminal, until it closes; ``environ`` holds the providers' keys.

    Raises:
        WorkerConfigError: the model cannot be used.
    """
    agent = build_agent(settings, environ)
    try:
        if settings.peer_fd is None:
            await run_terminal(agent, _open_utf8(0, "r"), _open_utf8(1, "w"))
        else:
            server = WorkerServer(agent, jail)
            sock = socket.socket(fileno=settings.peer_fd)
            async with connect_peer(sock, server.requests, server.notifications) as peer:
                await server.serve_wire(peer, settings.llm_provider, settings.model)
    finally:
        await agent.aclose()


def build_agent(settings: ThinkerSettings, environ: Mapping[str, str]) -> Agent:
    model = choose_model(settings, environ)
    small = choose_small_model(settings, environ, model)
    embeddings = choose_embeddings(settings, environ)
    stack = AsyncExitStack()
    for made in (embeddings, small):  # the small model is, or wraps, the agent's own
        if made is not None:
            stack.push_async_callback(made.aclose)
    find_endpoint = partial(find_served_endpoint, settings, environ)
    view = WorkerView(settings, small, embeddings, find_endpoint, stack)
    requests = {
        method: request
        for extension in list_extensions()
        for method, request in extension.list_requests(view).items()
    }
    return Agent(settings, model, embeddings, requests, stack)


def _open_utf8(fd: int, mode: Literal["r", "w"]) -> TextIO:
    """Open a standard stream as UTF-8, whatever the locale."""
    return open(fd, mode, encoding="utf-8", errors="replace", closefd=False)
