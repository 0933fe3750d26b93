"""What a journal with very many messages costs, beside a small one; of `bench_growth`."""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import anyio
from daemonbench import Running, configure, daemon
from grownjournal import AGENTS, CHATS, grow_journal
from processtree import cpu_ms
from rich.console import Console
from rich.progress import track
from rich.table import Table

AGENT, CHAT = "agent-0", "chat-0"
SMALL = 200  # messages of the journal beside it
BLOCKS, MESSAGES = 12, 40  # alternately to both, and of each block
TRIES, PAUSE, QUIET = 200, 3.0, 0.03  # seconds, and the share of a core that is little
STARTS = 3  # of each kind, of which the median counts
SEARCH = "tools=1 call=search_conversations query=boat"
TIMED = str(Path(__file__).with_name("timeddaemon.py"))
LONGEST = 5  # statements shown
GOALS = {"message_ratio": 1.05, "statement_ms": 20.0, "killed_ratio": 1.5}


async def _wait_for_quiet(running: Running) -> None:
    """Return once a daemon has checked its file, which takes a while after a clean end."""
    for _ in range(TRIES):
        before = cpu_ms(running.pid)
        await anyio.sleep(PAUSE)
        if cpu_ms(running.pid) - before < QUIET * 1000 * PAUSE:
            return


class Bench:
    """Homes with a small and a grown journal, and the address of the stub model."""

    def __init__(self, folder: Path, url: str, messages: int) -> None:
        self._homes = {SMALL: folder / "small", messages: folder / "grown"}
        self._url = url
        self._agents = tuple(f"agent-{number}" for number in range(AGENTS))
        self.grown = self._homes[messages]
        self.figures: dict[str, float] = {}
        for count, home in self._homes.items():
            home.mkdir(parents=True, exist_ok=True)
            if not (home / "journal.db").exists():
                began = time.perf_counter()
                grow_journal(home / "journal.db", count, AGENTS, CHATS)
                self.figures["made_s"] = time.perf_counter() - began

    async def measure_messages(self) -> None:
        """Measure the CPU of a message with both journals, in alternate blocks."""
        small, large = self._homes.values()
        async with (
            daemon(small, self._url, self._agents) as first,
            daemon(large, self._url, self._agents) as second,
        ):
            await _wait_for_quiet(second)
            pairs = []
            for number in track(range(-1, BLOCKS), "messages to both"):
                taken = {}
                for running in (first, second) if number % 2 else (second, first):
                    taken[running] = await self._send_block(running)
                if number >= 0:
                    pairs.append((taken[first], taken[second]))
        ratios = [grown / few for few, grown in pairs]
        self.figures["small_ms"], self.figures["large_ms"] = map(
            statistics.median, zip(*pairs, strict=True)
        )
        self.figures["message_ratio"] = statistics.median(ratios)
        low, _, high = statistics.quantiles(ratios, n=4)
        self.figures |= {"ratio_low": low, "ratio_high": high}

    @staticmethod
    async def _send_block(running: Running) -> float:
        """Return the CPU milliseconds of a message, half of them to new chats."""
        before = cpu_ms(running.pid)
        for number in range(MESSAGES):
            await running.ask(AGENT, "tools=0", CHAT if number % 2 else "")
        return (cpu_ms(running.pid) - before) / MESSAGES

    async def measure_statements(self) -> dict[str, float]:
        """Return the longest milliseconds of each statement of writer and event loop."""
        target = self.grown / "statements"
        command = ("-P", TIMED, str(target))
        async with daemon(self.grown, self._url, self._agents, command=command) as running:
            for number in range(MESSAGES):
                await running.ask(AGENT, SEARCH, CHAT if number % 2 else "")
            self.run_command("status")
        found: dict[str, float] = json.loads(target.read_text("utf-8"))
        self.figures["statement_ms"] = max(found.values())
        return found

    async def measure_starts(self) -> None:
        """Measure how long a start takes after a clean end, and after a kill."""
        for kind, number in (("clean", signal.SIGTERM), ("killed", signal.SIGKILL)):
            taken = []
            for _ in track(range(STARTS + 1), f"starts, {kind}"):
                async with daemon(self.grown, self._url, self._agents) as running:
                    await running.ask(AGENT, "tools=0", CHAT)
                    taken.append(running.ready_ms)
                    os.kill(running.pid, number)
            self.figures[f"{kind}_ms"] = statistics.median(taken[1:])
        self.figures["killed_ratio"] = self.figures["killed_ms"] / self.figures["clean_ms"]

    def run_command(self, *arguments: str) -> float:
        """Run a command of the grown home; return the CPU milliseconds of its process."""
        env = configure(self.grown, self._url, self._agents, {})
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = (sys.executable, "-P", "-m", "orchestrator", *arguments)
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return 1000 * used

    async def measure_commands(self) -> None:
        """Measure the CPU of commands beside the daemon."""
        async with daemon(self.grown, self._url, self._agents):
            for name in ("status", "usage"):
                self.figures[f"{name}_cpu_ms"] = self.run_command(name)
            target = self.grown.with_name("backup.tar.gz")
            target.unlink(missing_ok=True)
            self.figures["backup_cpu_ms"] = self.run_command("backup", str(target))
            target.unlink()


async def measure_grown(folder: Path, url: str, messages: int) -> None:
    """Measure everything with so many messages, and print the figures."""
    bench = Bench(folder, url, messages)
    await bench.measure_messages()
    statements = await bench.measure_statements()
    await bench.measure_starts()
    await bench.measure_commands()
    figures = bench.figures
    table = Table("what", "figure", "goal", title=f"{messages:,} messages")
    for name, figure in figures.items():
        goal = GOALS.get(name)
        table.add_row(name, f"{figure:.2f}", "" if goal is None else f"{goal:g}")
    Console().print(table)
    for sql, ms in sorted(statements.items(), key=lambda item: -item[1])[:LONGEST]:
        print(f"{ms:8.2f} ms  {' '.join(sql.split())[:100]}")
    met = {"target_met": all(figures[name] <= goal for name, goal in GOALS.items())}
    print(json.dumps({"bench": "grown", "messages": messages, **figures, **met}))
