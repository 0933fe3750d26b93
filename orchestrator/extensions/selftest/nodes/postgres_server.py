"""PostgreSQL servers: one that daemons use, and its synchronous standby.

They are ordinary processes of this machine's own programs, and listen only on loopback.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from orchestrator.errors import ConfigError
from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from orchestrator.testing.loopback import find_free_port

PROGRAMS = Path("/usr/lib/postgresql")  # on Debian; programs on the PATH take precedence
USER = "postgres"  # the user that runs a server for root, whom PostgreSQL refuses
# Stored data needs to outlive the server, not the machine.
OPTIONS = (
    "listen_addresses=127.0.0.1",
    "fsync=off",
    "max_connections=60",
    "wal_level=replica",
    "shared_buffers=64MB",
    "wal_retrieve_retry_interval=200ms",  # until a standby is back commits wait: 5 s by default
)
SYNCHRONOUS = ("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
STATE = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
END_HOLDER = (
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
)
PLACED = """FROM pg_locks JOIN placement ON grp = objid
  WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = 1869767527
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
TAKEN_OVER = f"SELECT count(*) = 128 {PLACED} AND url <> '{{}}'"
END_NODE = f"SELECT pg_terminate_backend(pid) {PLACED} AND url = '{{}}'"
COUNT_MEMBERS = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND objsubid = 2 AND classid = 1869767528
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
COUNT_GROUPS = f"SELECT count(*) {PLACED} AND url = '{{}}'"
AGENTS = """SELECT agent FROM unnest(ARRAY['{}']) AS agent
  JOIN placement ON grp = guard_group(agent) WHERE url = '{}'"""
WAITS = 600  # checks whether a standby is synchronous, of some 20 ms each


class ServerProcess:
    """A server whose data, socket and log are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = find_free_port()

    def create_data(self) -> None:
        """Make an empty server."""
        self._run_data_program(
            "initdb", "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "-N"
        )

    def follow_server(self, other: "ServerProcess") -> None:
        """Become a standby of another server, with a copy of its data."""
        shutil.rmtree(self.data, ignore_errors=True)
        _run_program(
            "pg_basebackup", "-D", str(self.data), "-c", "fast", "-N", *other.connection_options
        )
        source = f"host=127.0.0.1 port={other.port} user={USER}"
        (self.data / "postgresql.auto.conf").write_text(f"primary_conninfo = '{source}'\n")
        (self.data / "standby.signal").touch()
        self.start()
        other.query(*SYNCHRONOUS)
        for _ in range(WAITS):
            if other.query(STATE) == "1":
                return
        raise ConfigError(f"a standby of PostgreSQL does not follow; see {self.folder / 'log'}")

    @property
    def url(self) -> str:
        """The address of one of the server's databases."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    @property
    def connection_options(self) -> Sequence[str]:
        """The options with which programs connect to the server."""
        return ("-h", "127.0.0.1", "-p", str(self.port), "-U", USER)

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = " ".join(f"-c {option}" for option in (*OPTIONS, f"port={self.port}"))
        where = f"-c unix_socket_directories={self.folder} {options}"
        self._run_data_program("pg_ctl", "-l", str(self.folder / "log"), "-w", "-o", where, "start")

    def crash(self) -> None:
        """Kill the server's processes; the next start recovers from the log."""
        self._run_data_program("pg_ctl", "-m", "immediate", "-w", "stop")

    def stop(self) -> None:
        """Stop the server if it runs."""
        with suppress(ConfigError):
            self.crash()

    def promote(self) -> None:
        """Let a standby accept writes."""
        self._run_data_program("pg_ctl", "-w", "promote")

    def query(self, *statements: str) -> str:
        """Run statements and return what they print."""
        return self.query_database("postgres", *statements)

    def query_database(self, name: str, *statements: str) -> str:
        """Run statements in a database and return what they print."""
        commands = [part for text in statements for part in ("-c", text)]
        return _run_program("psql", *self.connection_options, "-d", name, "-XAtq", *commands)

    def _run_data_program(self, program: str, *arguments: str) -> None:
        _run_program(program, "-D", str(self.data), *arguments)


@dataclass
class ServerPair:
    """The nodes use ``first``, and ``second`` follows it."""

    first: ServerProcess
    second: ServerProcess

    def build_url(self, name: str, ports: Sequence[int] = ()) -> str:
        """Return the address of a database on both servers, or on stand-ins for their ports."""
        ports = ports or (self.first.port, self.second.port)
        hosts, numbers = ",".join("127.0.0.1" for _ in ports), ",".join(map(str, ports))
        return f"postgresql:///{name}?user={USER}&host={hosts}&port={numbers}"

    def end_holder_session(self) -> None:
        """End the session that has the journal, as an administrator could."""
        self.first.query(END_HOLDER)

    def has_taken_over(self, database: str, url: str) -> bool:
        """Return whether other nodes than the one at ``url`` work for each group of agents."""
        try:
            return self.first.query_database(database, TAKEN_OVER.format(url)) == "t"
        except ConfigError:  # the server is starting
            return False

    def end_node_session(self, database: str, url: str) -> None:
        """End the session of the node at ``url``, as an administrator could."""
        self.first.query_database(database, END_NODE.format(url))

    def count_groups(self, database: str, url: str) -> int:
        """Return the number of groups of agents that the node at ``url`` works for."""
        return int(self.first.query_database(database, COUNT_GROUPS.format(url)))

    def count_members(self, database: str) -> int:
        """Return the number of nodes that share the groups of agents."""
        return int(self.first.query_database(database, COUNT_MEMBERS))

    def list_agents(self, database: str, url: str, agents: Iterable[str]) -> list[str]:
        """Return the agents, out of these, that the node at ``url`` works for."""
        found = AGENTS.format("','".join(agents), url)
        return self.first.query_database(database, found).split()

    def fail_over(self) -> None:
        """Crash the first server, and let the second take its place."""
        self.first.crash()
        self.second.promote()
        self.first, self.second = self.second, self.first

    def repair(self) -> None:
        """Let the crashed server follow the other."""
        self.second.follow_server(self.first)

    def restart(self) -> None:
        """Crash the first server, and start it again."""
        self.first.crash()
        self.first.start()


@contextmanager
def run_server() -> Iterator[ServerProcess]:
    """Run an empty server for the block.

    Raises:
        ConfigError: PostgreSQL is missing, or does not start.
    """
    with _make_folder() as folder:
        server = ServerProcess(folder)
        server.create_data()
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def run_server_pair() -> Iterator[ServerPair]:
    """Run a server and its standby for the block.

    Raises:
        ConfigError: PostgreSQL is missing, or does not start.
    """
    with run_server() as first, _make_folder() as folder:
        second = ServerProcess(folder)
        try:
            second.follow_server(first)
            yield ServerPair(first, second)
        finally:
            second.stop()


@contextmanager
def _make_folder() -> Iterator[Path]:
    """Make a temporary folder for a server, with a path short enough for sockets."""
    folder = Path(mkdtemp(prefix="pg-", dir=find_memory_folder()))
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_program(program: str, *arguments: str) -> str:
    """Run one of PostgreSQL's programs as an ordinary user; return what it prints.

    Raises:
        ConfigError: the program is missing, or has failed.
    """
    found = [found for found in (shutil.which(program),) if found]
    found += sorted(map(str, PROGRAMS.glob(f"*/bin/{program}")), reverse=True)
    if not found:
        raise ConfigError(f"{program} is not there; install PostgreSQL's server")
    done = subprocess.run(
        (found[0], *arguments),
        user=USER if os.geteuid() == 0 else None,
        cwd="/",
        stdin=subprocess.DEVNULL,
        # A server keeps its output open, and reading a pipe would never end.
        stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
        stderr=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        problem = (done.stderr or b"").decode(errors="replace").strip()
        raise ConfigError(f"{program} has failed: {problem or done.returncode}")
    return (done.stdout or b"").decode().strip()
