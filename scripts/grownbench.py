"""What a journal with very many messages costs, beside a small one; of `bench_growth`.

Processor time counts, and starts are compared with each other, so that it may run beside other
work. Each figure is printed once it is known.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from anyio import to_thread
from daemonbench import Outside, Running, configure, daemon
from grownjournal import AGENTS, CHATS, DAY, DAYS, grow_journal
from processtree import cpu_ms
from rich.progress import track

from orchestrator.extensions.page.reads import lookup, spending_days
from orchestrator.extensions.selftest.crash.process_tree import list_descendants
from orchestrator.journal.db.reader import JournalReader
from orchestrator.journal.inspect import turn_search

AGENT, CHAT = "agent-0", "chat-0"
SMALL = 200  # messages of the journal beside it
BLOCKS, MESSAGES = 10, 30  # alternately to both, and of each block
WITHIN = 600.0  # seconds that a busy machine may need for anything
LOOK = 0.2  # seconds between two looks
STARTS = 3  # of each kind, of which the median counts
SEARCH = "tools=1 call=search_conversations query=boat"
TIMED = str(Path(__file__).with_name("timeddaemon.py"))
CHECKING = b"orchestrator.extensions.upkeep"  # the process that looks for damage
RETAINED = DAYS - 1  # days, so that a ninetieth of the turns goes
LONGEST = 5  # statements shown
SPAN = 30  # days of spending
GOALS = {"message_ratio": 1.05, "statement_ms": 20.0, "killed_ratio": 1.5, "backup_s_per_gb": 8.5}


async def _wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something that must happen in time."""
    for _ in range(round(WITHIN / LOOK)):
        if happened():
            return
        await anyio.sleep(LOOK)
    raise SystemExit(f"not within {WITHIN:.0f} s")


async def _wait_for_check(running: Running) -> None:
    """Return once a daemon has looked for damage in its large file, as it does after each start."""
    await _wait_until(lambda: _is_checking(running.pid))
    await _wait_until(lambda: not _is_checking(running.pid))


def _is_checking(pid: int) -> bool:
    for below in list_descendants(pid):
        try:
            if CHECKING in Path(f"/proc/{below}/cmdline").read_bytes():
                return True
        except OSError:  # it has ended
            continue
    return False


class Bench:
    """Homes with a small and a grown journal, and the address of the stub model."""

    def __init__(self, folder: Path, url: str, messages: int) -> None:
        self._small, self._grown = folder / "small", folder / "grown"
        self._url = url
        self._agents = tuple(f"agent-{number}" for number in range(AGENTS))
        self._env: dict[str, str] = {}  # of commands in the grown home
        self.figures: dict[str, float] = {}
        for count, home in ((SMALL, self._small), (messages, self._grown)):
            home.mkdir(parents=True, exist_ok=True)
            if not (home / "journal.db").exists():
                began = time.perf_counter()
                grow_journal(home / "journal.db", count, AGENTS, CHATS)
                self._tell("made_s", time.perf_counter() - began)
        self._env = configure(self._grown, url, self._agents, {})

    async def measure_messages(self) -> None:
        """Measure the CPU of a message with both journals, in alternate blocks."""
        async with (
            daemon(self._small, self._url, self._agents) as first,
            daemon(self._grown, self._url, self._agents) as second,
        ):
            await _wait_for_check(second)
            pairs = []
            for number in track(range(-1, BLOCKS), "messages to both"):
                taken = {}
                for running in (first, second) if number % 2 else (second, first):
                    taken[running] = await self._measure_block(running)
                if number >= 0:
                    pairs.append((taken[first], taken[second]))
        ratios = [grown / few for few, grown in pairs]
        few, many = map(statistics.median, zip(*pairs, strict=True))
        self._tell("small_ms", few)
        self._tell("large_ms", many)
        self._tell("message_ratio", statistics.median(ratios))
        low, _, high = statistics.quantiles(ratios, n=4)
        self._tell("ratio_low", low)
        self._tell("ratio_high", high)

    async def measure_starts(self) -> None:
        """Measure how long a start takes after a clean end, and after a kill, in turn."""
        taken: dict[int, list[float]] = {signal.SIGTERM: [], signal.SIGKILL: []}
        ended: int = signal.SIGTERM
        for number in track(range(2 * STARTS + 1), "starts"):
            async with daemon(self._grown, self._url, self._agents) as running:
                await _ask(running, "tools=0")
                if number:
                    taken[ended].append(running.ready_ms)
                ended = signal.SIGTERM if number % 2 else signal.SIGKILL
                os.kill(running.pid, ended)
        clean, killed = map(statistics.median, taken.values())
        self._tell("clean_ms", clean)
        self._tell("killed_ms", killed)
        self._tell("killed_ratio", killed / clean)

    async def measure_statements(self) -> None:
        """Find the longest statements of writer and event loop, also of retention."""
        target = self._grown / "statements"
        kept = {"retention": {"turnDays": RETAINED}}
        outside = Outside(kept, {"ORCHESTRATOR_LOG_LEVEL": "debug"})
        async with daemon(
            self._grown,
            self._url,
            self._agents,
            outside=outside,
            command=("-P", TIMED, str(target)),
        ) as running:
            for number in track(range(MESSAGES), "searches"):
                await _ask(running, SEARCH, CHAT if number % 2 else "")
            await self._run_command("status")
            await _wait_until(lambda: self._find_logged("retention") is not None)
        removed = self._find_logged("retention") or {}
        self._tell("retained_turns", float(removed["turns"]))
        found: dict[str, float] = json.loads(target.read_text("utf-8"))
        self._tell("statement_ms", max(found.values()))
        for sql, ms in sorted(found.items(), key=lambda item: -item[1])[:LONGEST]:
            print(f"{ms:26.2f} ms  {' '.join(sql.split())[:100]}", flush=True)

    async def measure_reads(self) -> None:
        """Measure lists and searches of the page."""
        reader = JournalReader(self._grown / "journal.db")
        now = time.time_ns() // 1_000_000
        days = [(now - (number + 1) * DAY, now - number * DAY) for number in range(SPAN)]

        async def sum_days() -> None:
            for since, until in days:
                await reader(spending_days.list_spending_slots, since, until)

        reads: dict[str, Callable[[], Awaitable[object]]] = {
            "by_tool_ms": lambda: reader(turn_search.search_turns, {"tool": "file_read"}),
            "by_text_ms": lambda: reader(turn_search.search_turns, {"text": "boat"}),
            "search_ms": lambda: lookup.search_journal(reader, "boat", texts=True),
            f"spending_{SPAN}_days_ms": sum_days,
        }
        for name, read in reads.items():
            began = time.thread_time()
            await read()
            self._tell(name, 1000 * (time.thread_time() - began))
        reader.close()

    async def measure_commands(self) -> None:
        """Measure the CPU of commands beside the daemon, and of a backup beside traffic."""
        async with daemon(self._grown, self._url, self._agents) as running:
            await _wait_for_check(running)
            for command in (("status",), ("usage",), ("sessions", "list")):
                used = await self._run_command(*command)
                self._tell(f"{command[0]}_cpu_ms", 1000 * used)
            target, journal = self._grown.with_name("backup.tar.gz"), self._grown / "journal.db"
            target.unlink(missing_ok=True)
            before, sent, done = cpu_ms(running.pid), 0, anyio.Event()

            async def back_up() -> None:
                used, size = await self._run_command("backup", str(target)), journal.stat().st_size
                self._tell("backup_cpu_s", used)
                self._tell("backup_s_per_gb", used / (size / 1e9))
                done.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(back_up)
                while not done.is_set():
                    await _ask(running, "tools=0", CHAT if sent % 2 else "")
                    sent += 1
            self._tell("backup_mb", target.stat().st_size / 1e6)
            self._tell("beside_ms", (cpu_ms(running.pid) - before) / sent)
            target.unlink()

    @staticmethod
    async def _measure_block(running: Running) -> float:
        """Return the CPU milliseconds of a message, half of them to new chats."""
        before = cpu_ms(running.pid)
        for number in range(MESSAGES):
            await _ask(running, "tools=0", CHAT if number % 2 else "")
        return (cpu_ms(running.pid) - before) / MESSAGES

    async def _run_command(self, *arguments: str) -> float:
        """Run a command of the grown home; return the CPU seconds of its processes."""
        command = (sys.executable, "-P", "-m", "orchestrator", *arguments)
        return await to_thread.run_sync(_run_process, command, self._env)

    def _find_logged(self, event: str) -> dict[str, float] | None:
        """Return the first such line of the grown home's daemon."""
        mark = f'"event":"{event}"'.encode()
        lines = (self._grown / "log").read_bytes().splitlines()
        return next((json.loads(line) for line in lines if mark in line), None)

    def _tell(self, name: str, figure: float) -> None:
        self.figures[name] = figure
        goal = GOALS.get(name)
        print(f"{name:16}{figure:10.2f}{'' if goal is None else f'  (goal {goal:g})'}", flush=True)


async def _ask(running: Running, text: str, chat: str = CHAT) -> None:
    await running.ask(AGENT, text, chat, within=WITHIN)


def _run_process(command: Sequence[str], env: dict[str, str]) -> float:
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


async def measure_grown(folder: Path, url: str, messages: int) -> None:
    """Measure everything with so many messages, and print each figure as it comes."""
    bench = Bench(folder, url, messages)
    await bench.measure_reads()
    await bench.measure_messages()
    await bench.measure_starts()
    await bench.measure_statements()
    await bench.measure_commands()
    met = {"target_met": all(bench.figures[name] <= goal for name, goal in GOALS.items())}
    print(json.dumps({"bench": "grown", "messages": messages, **bench.figures, **met}))
