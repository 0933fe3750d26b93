"""Examine the configuration, the home and the machine."""

import ctypes
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import apsw

from orchestrator import __version__
from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import explain_broken_kind
from orchestrator.agentsfile.model_costs import find_window
from orchestrator.agentsfile.mounting import load_models
from orchestrator.cli.commands import COMMANDS, find_extension_commands
from orchestrator.control.protocol import StatusReport
from orchestrator.control.status import list_troubles
from orchestrator.errors import FAULTS, ConfigError, describe_fault, join_names
from orchestrator.extension import Extension, Finding
from orchestrator.findings import ProbeTargets, Verdict
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import InstalledExtensions, find_installed, list_shipped
from orchestrator.journal.opening import describe_failure, find_engine
from orchestrator.journal_address import JournalAddress
from orchestrator.processes.launch import build_launch_spec, resolve_endpoint
from orchestrator.settings import TOKEN, Settings
from thinker.jail import kernel, landlock
from thinker.protocol.providers import PROVIDERS, list_key_variables

ENOUGH = 500 * 1024**2  # bytes of free disk; a busy journal grows by some MB a day
CLOCK_UNSYNCHRONIZED = 5  # TIME_ERROR of adjtimex(2)
TIMEX_SIZE = 256  # bytes; struct timex has 208
RELEASED = 1_735_689_600  # seconds since the epoch; an earlier time means a wrong clock
MAX_WINDOWS = 50  # agents whose windows are told
NAMED = '"extensions": {{"{}": {{}}}} in agents.json'


def list_findings(
    settings: Settings,
    file: AgentsFile | None,
    environ: Mapping[str, str],
    status: StatusReport | None,
) -> Iterator[Finding]:
    """Yield all findings, also of extensions; ``file`` is None if agents.json is unusable."""
    yield _check_versions()
    yield _check_daemon(status)
    if status is not None:
        for trouble in (*list_troubles(status.agents, status.tool_servers), *status.notes):
            yield Finding("daemon", trouble, "warning")
    yield _check_keys(file, environ)
    yield from _check_windows(file, status)
    if status is not None:
        yield from _check_workers(status)
        yield from _check_channels(status)
    yield from _check_provenance(file)
    yield from _check_home(settings.home)
    yield from _check_journal(settings.journal)
    yield _check_clock()
    yield from list_extensions(find_installed(), file)
    yield from _collect_extension_findings(settings, file, status)


def build_probe_targets(
    settings: Settings, file: AgentsFile | None, supervisor: int
) -> ProbeTargets:
    """Return the targets for probes that stand in for the first agent."""
    paths, config = settings.paths, settings.find_agents_file()
    agents = [] if file is None else [agent for agent in file.agents if agent.enabled]
    wanted = {
        "home": settings.home,
        "journal": paths.journal,
        "keys": paths.keys,
        "api token": paths.api_token,
        "last good agents.json": paths.last_good,
        **list_places_outside(),
    }
    if config != find_bundled_path("config") / "agents.json":  # that servers read, but do not write
        wanted["agents.json"] = config
    with suppress(ConfigError):  # no daemon runs on such a home
        wanted["control socket"] = paths.control_socket
    for other in agents[1:2]:
        wanted["another agent's prompt"] = paths.agent_prompts / f"{other.agent_id}.txt"
        wanted["another agent's folder"] = settings.personas / other.agent_id
    own: tuple[Path, ...] = ()
    for agent in agents[:1]:
        spec = build_launch_spec(agent, settings, resolve_endpoint(agent, {}, ()), {})
        own = tuple(spec.settings.list_own_paths())
    return ProbeTargets(
        settings.home, own, {"supervisor": supervisor}, wanted, str(settings.config or "")
    )


def list_places_outside() -> dict[str, Path]:
    """Return the program of the daemon, and where its user keeps keys and starts programs."""
    user = Path("~").expanduser()
    places = {"program": Path(__file__).parents[3]}
    places |= {name: user / name for name in (".ssh", ".aws", ".gnupg", ".bashrc", ".config/git")}
    return {name: path for name, path in places.items() if path.exists()}


def _check_versions() -> Finding:
    abi = landlock.read_abi_version()
    text = (
        f"orchestrator {__version__}, Python {platform.python_version()},"
        f" Linux {platform.release()} on {kernel.MACHINE}, SQLite {apsw.sqlite_lib_version()},"
        f" Landlock {abi or 'none'}"
    )
    if abi >= landlock.ABI_SCOPE:
        return Finding("versions", text)
    return Finding("versions", f"{text}; Linux 6.12 or newer walls agents off best", "warning")


def _check_daemon(status: StatusReport | None) -> Finding:
    if status is None:
        return Finding("daemon", "does not run; start it with: orchestrator run", "warning")
    if status.ready:
        return Finding("daemon", f"runs version {status.version}")
    return Finding("daemon", "runs, but is not ready; see: orchestrator health", "problem")


def _check_keys(file: AgentsFile | None, environ: Mapping[str, str]) -> Finding:
    known = PROVIDERS if file is None else file.known_providers
    names = [name for name in list_key_variables(known) if environ.get(name)]
    names += [TOKEN] if environ.get(TOKEN) else []
    return Finding("keys", ", ".join(sorted(names)) or "none; keys.env in the home is for them")


def _check_windows(file: AgentsFile | None, status: StatusReport | None) -> Iterator[Finding]:
    """Yield how many tokens the agents' models read at once; a guess is a warning."""
    running = {report.agent_id: report.window for report in (status.agents if status else ())}
    asked = [
        agent
        for agent in (file.agents if file else ())
        if agent.enabled and agent.llm_provider not in ("auto", "demo")
    ]
    for agent in asked[:MAX_WINDOWS]:
        text = running.get(agent.agent_id) or find_window(agent).text
        name = f"window of {agent.agent_id}"
        if "(assumed)" in text and agent.agent_id in running:
            advice = f'{text} tokens; set "contextTokens" in agents.json if it is not so'
            yield Finding(name, advice, "warning")
        else:
            yield Finding(name, f"{text} tokens")
    if len(asked) > MAX_WINDOWS:
        yield Finding("windows", f"those of {len(asked) - MAX_WINDOWS:,} more agents are left out")


def _check_workers(status: StatusReport) -> Iterator[Finding]:
    """Yield how many workers live, and whether agents wait since no more may."""
    if status.workers is not None:
        live, limit, waiting = status.workers.live, status.workers.limit, status.workers.waiting
        text = f"{live} of at most {limit} live"
        if waiting and live >= limit:
            advice = f"{text}, and {waiting} agents wait; raise ORCHESTRATOR_MAX_WORKERS if"
            yield Finding("workers", f"{advice} the memory allows it", "warning")
        else:
            yield Finding("workers", text)


def _check_channels(status: StatusReport) -> Iterator[Finding]:
    for channel in status.channels:
        state = "" if channel.detail.startswith("off") else channel.state  # the port is, by choice
        text = f"{state} {channel.detail}".strip()
        yield Finding(f"channel {channel.name}", text, "ok" if channel.state == "ok" else "warning")


def _check_provenance(file: AgentsFile | None) -> Iterator[Finding]:
    if file is None:
        return
    off = [agent.agent_id for agent in file.agents if agent.provenance == "off"]
    if off:
        text = f"off for {join_names(off)}: what they read may make them send what they know"
        yield Finding("provenance", text, "warning")
    else:
        yield Finding("provenance", "text of tools, pages and strangers is kept separate")


def _check_home(home: Path) -> Iterator[Finding]:
    if not home.is_dir():
        yield Finding("home", f"{home} does not exist; orchestrator init makes it", "warning")
        return
    mode, owner = home.stat().st_mode & 0o777, home.stat().st_uid
    if owner != os.geteuid():
        yield Finding("home", f"{home} belongs to another user; use your own", "problem")
    elif mode & 0o077:
        text = f"others may read {home} (mode {mode:o}); run: chmod 700 {home}"
        yield Finding("home", text, "problem")
    else:
        yield Finding("home", str(home))
    yield _check_writable(home)
    free = shutil.disk_usage(home).free
    text = f"{free / 1e9:.1f} GB free"
    if free < ENOUGH:
        yield Finding("disk", f"{text}; free some space, or messages wait", "problem")
    else:
        yield Finding("disk", text)


def _check_writable(home: Path) -> Finding:
    """Write to an unnamed temporary file, which vanishes on close."""
    try:
        fd = os.open(home, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, b".")
        finally:
            os.close(fd)
    except OSError as error:
        if not os.access(home, os.W_OK):
            return Finding("writing", f"{home}: {error.strerror}; fix its permissions", "problem")
    return Finding("writing", "works")


def _check_clock() -> Finding:
    now = time.time()
    text = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now))
    if now < RELEASED:
        return Finding("clock", f"{text} is in the past; set the clock", "problem")
    state = kernel.LIBC.adjtimex(ctypes.create_string_buffer(TIMEX_SIZE))
    if state == CLOCK_UNSYNCHRONIZED:
        text += "; not synchronized with a time server, which scheduled tasks need"
        return Finding("clock", text, "warning")
    return Finding("clock", text)


def _check_journal(address: JournalAddress) -> Iterator[Finding]:
    """Report the journal's place; a database server's engine adds its own findings."""
    if isinstance(address, Path):
        failure = describe_failure(address)
        if failure is None:
            yield Finding("journal", f"in the file {address}")
        else:
            yield Finding("journal", failure, "problem")
        return
    try:
        find_engine(address)
    except ConfigError as error:
        yield Finding("journal", str(error), "problem")


def list_extensions(found: InstalledExtensions, file: AgentsFile | None) -> Iterator[Finding]:
    """Yield which extensions are installed, unused or broken."""
    unusable = {name: explain_broken_kind(name) for name in found.channels}
    usable = [name for name in found.channels if not unusable[name]]
    yield Finding("extensions", ", ".join(sorted((*found.own, *usable))) or "none")
    known = {*found.own, *found.channels, *found.broken}
    missing = sorted(list_shipped().keys() - known)
    if missing:
        yield Finding("extensions", f"not installed: {', '.join(missing)}")
    rejected = load_models().rejected
    for name, extension in found.foreign.items():
        used = file is not None and name in file.extensions
        faults = [rejected[name]] if name in rejected else [*_list_command_faults(extension)]
        for fault in faults:
            yield Finding(f"extension {name}", f"{fault}; correct or uninstall it", "problem")
        if file is None:
            yield Finding(
                f"extension {name}", "not in use, as agents.json cannot be used", "problem"
            )
        elif not faults:
            text = "installed" if used else f"not in use; to use it, name it: {NAMED.format(name)}"
            yield Finding(f"extension {name}", text)
    for name, problem in {**unusable, **found.broken}.items():
        if not problem:
            continue
        yield Finding(
            f"extension {name}", f"left out: {problem}; repair or uninstall it", "problem"
        )


def _list_command_faults(extension: Extension) -> Iterator[str]:
    """Yield why commands of a foreign extension cannot be called."""
    try:
        added = dict(extension.list_commands())
    except FAULTS as error:
        yield f"cannot list its commands: {describe_fault(error)}"
        return
    known = find_extension_commands()
    for name, command in added.items():
        if name in COMMANDS or known.get(name) != command:
            yield f"its command {name!r} has a name that is taken; rename it"
            continue
        try:
            if find_spec(command.module) is None:
                yield f"its command {name!r} has no module {command.module}"
        except FAULTS as error:
            yield f"its command {name!r} has no usable module ({describe_fault(error)})"


def _collect_extension_findings(
    settings: Settings, file: AgentsFile | None, status: StatusReport | None
) -> Iterator[Finding]:
    """Yield the findings of bundled extensions and of those in agents.json."""
    found = find_installed()
    for extension in found.own.values():
        yield from extension.list_findings(settings, file, status)
    for name, extension in found.foreign.items():
        if file is None or name not in file.extensions:
            continue
        try:
            found_there = tuple(extension.list_findings(settings, file, status))
            unknown = {one.verdict for one in found_there} - {*get_args(Verdict)}
            yield from (one for one in found_there if one.verdict not in unknown)
            for verdict in sorted(unknown):
                text = f"has the verdict {verdict!r}; write ok, warning or problem"
                yield Finding(f"extension {name}", text, "problem")
        except FAULTS as error:
            text = f"cannot say what it finds ({describe_fault(error)}); report it"
            yield Finding(f"extension {name}", text, "problem")
