"""Look at the configuration, the home and the machine."""

import ctypes
import os
import platform
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import apsw

from orchestrator import __version__
from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.api_checks import api_openings
from orchestrator.agentsfile.page_checks import page_openings
from orchestrator.control.protocol import StatusReport
from orchestrator.control.status import troubles
from orchestrator.doctor.findings import Finding, Verdict
from orchestrator.doctor.jail_probes import ProbeTargets
from orchestrator.doctor.journal_place import journal_findings
from orchestrator.errors import ConfigError
from orchestrator.home_paths import bundled
from orchestrator.http_api.agent_ports import port_problem
from orchestrator.processes.launch import build_launch_spec, resolve_endpoint
from orchestrator.selftest import last_run
from orchestrator.settings import Settings
from orchestrator.system.installed_units import installed
from thinker.formats.regular_file import FileError
from thinker.jail import kernel, landlock
from thinker.protocol.providers import PROVIDERS, key_variables

ENOUGH = 500 * 1024**2  # bytes of free disk; a busy journal grows by some MB a day
CLOCK_UNSYNCHRONIZED = 5  # TIME_ERROR of adjtimex(2)
TIMEX_SIZE = 256  # bytes; struct timex has 208
RELEASED = 1_735_689_600  # seconds since the epoch; no clock that is right shows an earlier time
TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name


def findings(
    settings: Settings,
    file: AgentsFile | None,
    environ: Mapping[str, str],
    status: StatusReport | None,
) -> Iterator[Finding]:
    """Yield what was found; without ``file`` agents.json cannot be used."""
    yield _versions()
    yield _daemon(status)
    if status is not None:
        for trouble in troubles(status.agents, status.tool_servers):
            yield _finding("daemon", trouble, "warning")
        for note in status.notes:
            yield _finding("daemon", note, "warning")
    yield _keys(file, environ)
    yield from _channels(file, environ, status)
    if status is None and file is not None:
        yield from _ports(file)
        yield from _api_port(file, settings)
        yield from _page_port(file, settings)
    yield from _page(file)
    yield from _provenance(file)
    yield from _home(settings.home)
    yield from journal_findings(settings.journal)
    yield _clock()
    yield _service()
    yield _selftest(settings.paths.last_selftest)


def targets(settings: Settings, file: AgentsFile | None, supervisor: int) -> ProbeTargets:
    """Return what probes in the place of the first agent try to reach."""
    paths, config = settings.paths, settings.agents_file()
    agents = [] if file is None else [agent for agent in file.agents if agent.enabled]
    wanted = {
        "home": settings.home,
        "journal": paths.journal,
        "keys": paths.keys,
        "api token": paths.api_token,
        "last good agents.json": paths.last_good,
    }
    if config != bundled("config") / "agents.json":  # that is read by servers, but not written
        wanted["agents.json"] = config
    with suppress(ConfigError):  # such a home has no daemon
        wanted["control socket"] = paths.control_socket
    for other in agents[1:2]:
        wanted["another agent's prompt"] = paths.agent_prompts / f"{other.agent_id}.txt"
        wanted["another agent's folder"] = settings.personas / other.agent_id
    own: tuple[Path, ...] = ()
    for agent in agents[:1]:
        spec = build_launch_spec(agent, settings, resolve_endpoint(agent, {}, ()), {})
        own = tuple(spec.settings.own_paths())
    return ProbeTargets(
        settings.home, own, {"supervisor": supervisor}, wanted, str(settings.config or "")
    )


def _finding(subject: str, text: str, verdict: Verdict = "ok") -> Finding:
    return Finding(subject=subject, verdict=verdict, text=text)


def _versions() -> Finding:
    abi = landlock.abi()
    text = (
        f"orchestrator {__version__}, Python {platform.python_version()},"
        f" Linux {platform.release()} on {kernel.MACHINE}, SQLite {apsw.sqlite_lib_version()},"
        f" Landlock {abi or 'none'}"
    )
    if abi >= landlock.ABI_SCOPE:
        return _finding("versions", text)
    return _finding("versions", f"{text}; Linux 6.12 or newer walls agents off best", "warning")


def _daemon(status: StatusReport | None) -> Finding:
    if status is None:
        return _finding("daemon", "does not run; start it with: orchestrator run", "warning")
    if status.ready:
        return _finding("daemon", f"runs version {status.version}")
    return _finding("daemon", "runs, but is not ready; see: orchestrator health", "problem")


def _keys(file: AgentsFile | None, environ: Mapping[str, str]) -> Finding:
    known = PROVIDERS if file is None else file.known_providers
    names = [name for name in key_variables(known) if environ.get(name)]
    names += [TOKEN] if environ.get(TOKEN) else []
    return _finding("keys", ", ".join(sorted(names)) or "none; keys.env in the home is for them")


def _channels(
    file: AgentsFile | None, environ: Mapping[str, str], status: StatusReport | None
) -> Iterator[Finding]:
    if status is not None:
        for channel in status.channels:
            verdict: Verdict = "ok" if channel.state == "ok" else "warning"
            text = f"{channel.state} {channel.detail}".strip()
            yield _finding(f"channel {channel.name}", text, verdict)
    elif file is not None and file.channels.telegram.enabled and not environ.get(TOKEN):
        bound = any(binding.channel == "telegram" for binding in file.bindings)
        verdict = "warning" if bound else "ok"
        yield _finding("channel telegram", f"off: {TOKEN} is not set", verdict)


def _page(file: AgentsFile | None) -> Iterator[Finding]:
    """Say who can reach the page, if it is switched on, and who else the endpoints."""
    if file is not None and file.channels.api.enabled:
        for field, effect in api_openings(file.channels.api):
            yield _finding("channel api", f"channels.api.{field}: {effect}", "warning")
    web = None if file is None else file.channels.web
    if web is None or not web.enabled:
        return
    openings = list(page_openings(web))
    for field, effect in openings:
        yield _finding("web page", f"channels.web.{field}: {effect}", "warning")
    if not openings:
        place = "its socket" if web.socket else f"127.0.0.1:{web.port}"
        yield _finding("web page", f"for this machine alone, by {place}")


def _page_port(file: AgentsFile, settings: Settings) -> Iterator[Finding]:
    """Open the page's port for a moment, if the page is switched on."""
    web = file.channels.web
    if web.enabled and not web.socket and settings.paths.page_on.exists():
        try:
            socket.create_server(("127.0.0.1", web.port)).close()
        except OSError as error:
            advice = "end the program that has it, or set channels.web.port in agents.json"
            yield _finding("web page", f"port {web.port}: {error.strerror}; {advice}", "problem")


def _api_port(file: AgentsFile, settings: Settings) -> Iterator[Finding]:
    """Open the port of the endpoints for a moment, if a token or a webhook has opened them."""
    given = settings.api_port
    port = file.channels.api.port if given is None else given
    opened = file.channels.reached or settings.paths.api_token.exists()
    if port and file.channels.api.enabled and opened:
        try:
            socket.create_server((file.channels.api.host, port)).close()
        except OSError as error:
            advice = "end the program that has it, or set channels.api.port in agents.json"
            yield _finding("channel api", f"port {port}: {error.strerror}; {advice}", "problem")


def _ports(file: AgentsFile) -> Iterator[Finding]:
    """Open the port of each agent for a moment; no daemon has it now."""
    for agent in file.agents:
        if agent.enabled and agent.port:
            subject = f"port of {agent.agent_id}"
            try:
                socket.create_server(("127.0.0.1", agent.port)).close()
            except OSError as error:
                yield _finding(subject, port_problem(agent.port, agent.agent_id, error), "problem")
            else:
                yield _finding(subject, f"{agent.port} is free")


def _provenance(file: AgentsFile | None) -> Iterator[Finding]:
    if file is None:
        return
    off = [agent.agent_id for agent in file.agents if agent.provenance == "off"]
    if off:
        text = f"off for {', '.join(off)}: what they read may make them send what they know"
        yield _finding("provenance", text, "warning")
    else:
        yield _finding("provenance", "text of tools, pages and strangers is told apart")


def _home(home: Path) -> Iterator[Finding]:
    if not home.is_dir():
        yield _finding("home", f"{home} does not exist; orchestrator init makes it", "warning")
        return
    mode, owner = home.stat().st_mode & 0o777, home.stat().st_uid
    if owner != os.geteuid():
        yield _finding("home", f"{home} belongs to another user; use your own", "problem")
    elif mode & 0o077:
        text = f"others may read {home} (mode {mode:o}); run: chmod 700 {home}"
        yield _finding("home", text, "problem")
    else:
        yield _finding("home", str(home))
    yield _writable(home)
    free = shutil.disk_usage(home).free
    text = f"{free / 1e9:.1f} GB free"
    if free < ENOUGH:
        yield _finding("disk", f"{text}; make room, or messages wait", "problem")
    else:
        yield _finding("disk", text)


def _writable(home: Path) -> Finding:
    """Write to a file that has no name, so that nothing of it stays."""
    try:
        fd = os.open(home, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, b".")
        finally:
            os.close(fd)
    except OSError as error:
        if not os.access(home, os.W_OK):
            return _finding("writing", f"{home}: {error.strerror}; correct its mode", "problem")
    return _finding("writing", "works")


def _clock() -> Finding:
    now = time.time()
    text = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now))
    if now < RELEASED:
        return _finding("clock", f"{text} is in the past; set the clock", "problem")
    state = kernel.LIBC.adjtimex(ctypes.create_string_buffer(TIMEX_SIZE))
    if state == CLOCK_UNSYNCHRONIZED:
        text += "; not kept right by a time server, as tasks at fixed times need"
        return _finding("clock", text, "warning")
    return _finding("clock", text)


def _selftest(path: Path) -> Finding:
    try:
        run = last_run.load(path)
    except FileError as error:
        return _finding("self-test", f"{path}: {error}", "warning")
    if run is None:
        return _finding("self-test", "never ran here; try: orchestrator selftest crash --quick")
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
    text = f"{run.histories} crashes on {when} with version {run.version}"
    verdict: Verdict = "problem" if run.violations else "ok"
    return _finding("self-test", f"{text}, {run.violations} violations", verdict)


def _service() -> Finding:
    found = ", ".join(str(unit.path) for unit in installed(Path.home()))
    return _finding("service unit", found or "not installed (orchestrator service)")
