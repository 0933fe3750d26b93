"""Serve metrics, and send metrics and traces to a collector."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.status import list_used_adapters
from orchestrator.errors import ConfigError
from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.telemetry import journal_delta, live_figures, prometheus_text
from orchestrator.extensions.telemetry import metric_catalog as catalog
from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble
from orchestrator.extensions.telemetry.exporter_parts import ExporterParts
from orchestrator.extensions.telemetry.journal_counters import JournalCounters
from orchestrator.extensions.telemetry.metric_families import CounterFamily, Readings
from orchestrator.extensions.telemetry.otlp_settings import (
    OtlpSettings,
    list_unread_variables,
    select_set_variables,
)
from orchestrator.placement import run_on_one_node
from orchestrator.processes import restarts
from orchestrator.wakeup import Wakeup

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

WRONG_SETTINGS = "{problem}; nothing is sent to a collector until that is corrected"
EXPORTERS = "orchestrator.extensions.telemetry.otlp_exporters"
RETRY_SECONDS = 60.0  # after a fault of the program
log = structlog.get_logger()


class Telemetry(Part):
    """The daemon's telemetry; its counters begin at the journal's end."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._in_thread, self._changed = daemon.machine.in_thread, Wakeup()
        self._wrong: tuple[str, ...] = ()
        self._troubles: list[CollectorTrouble] = []

    async def open(self) -> None:
        """Find the journal's end, after which everything is counted."""
        store, machine = self.daemon.store, self.daemon.machine
        started = self._started = machine.clock()
        place = await store.read(journal_delta.find_journal_end, started)
        self._counters = JournalCounters(store.address, place, machine.clock, self._in_thread)
        self._parts = ExporterParts(
            store=store,
            readings=self._collect_readings,
            spans=CounterFamily[float](catalog.SPANS),
            started=started,
            clock=machine.clock,
            in_thread=self._in_thread,
            jitter=partial(restarts.draw_jitter, machine.draw_fraction),
        )

    def list_routes(self) -> tuple[Route, ...]:
        return (Route("/metrics", self._serve_metrics),)

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Check whether the environment, which has the keys, names another collector."""
        del old, new
        self._changed.wake()

    def list_hints(self) -> tuple[str, ...]:
        """Return hints for the operator: invalid settings, and a failing collector."""
        return (
            *self._wrong,
            *(hint for trouble in self._troubles for hint in trouble.list_hints()),
        )

    async def run(self) -> None:
        """Send to a collector, if any, until cancelled; edits of its settings apply live."""
        environ = self.daemon.environ
        while True:
            given = select_set_variables(environ)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run_exporters)
                while select_set_variables(environ) == given:
                    await self._changed.changed.wait()
                tasks.cancel_scope.cancel()

    async def _run_exporters(self) -> None:
        settings = self._load_settings()
        if settings.traces_url is None and settings.metrics_url is None:
            return
        # Most daemons send nothing, and do without httpx; messages go on while it is loaded.
        loaded = await self._in_thread(import_module, EXPORTERS)
        exporters = loaded.build_exporters(settings, self._parts)
        self._troubles = [exporter.trouble for exporter in exporters]
        try:
            async with anyio.create_task_group() as tasks:
                for exporter in exporters:
                    run = partial(_keep_running, exporter.run, exporter.trouble)
                    if isinstance(exporter, loaded.SpanExporter):  # the journal's, of all nodes
                        run = partial(run_on_one_node, self.daemon.placement, "traces", run)
                    tasks.start_soon(run)
        finally:
            self._troubles = []

    def _load_settings(self) -> OtlpSettings:
        """Return the valid settings, and note the problems of others."""
        settings, wrong = OtlpSettings(), list(list_unread_variables(self.daemon.environ))
        try:
            settings = OtlpSettings.read_environ(self.daemon.environ)
        except ConfigError as error:
            wrong += [WRONG_SETTINGS.format(problem=line) for line in str(error).splitlines()]
        for problem in wrong:
            log.warning("config_problem", problem=problem)
        self._wrong = tuple(wrong)
        return settings

    async def _serve_metrics(self, _: "Request") -> "Response":
        """Answer with the text that Prometheus reads.

        Raises:
            JournalError: the journal cannot be read.
        """
        from starlette.responses import Response  # noqa: PLC0415 - a web server loads it

        text = await self._in_thread(prometheus_text.render_metrics, await self._collect_readings())
        return Response(text, media_type=prometheus_text.MEDIA_TYPE)

    async def _collect_readings(self) -> Sequence[Readings]:
        counted, daemon = await self._counters.collect_readings(), self.daemon.operations
        statuses = (adapter.status for adapter in list_used_adapters(daemon.adapters.values()))
        return [
            *counted,
            self._parts.spans.build_readings(),
            live_figures.build_worker_readings(daemon.supervisor.slots),
            *live_figures.build_channel_readings(statuses, daemon.clock() / 1000),
            live_figures.build_server_readings(daemon.servers.list_states()),
            *live_figures.build_process_readings(self._started / 1000, daemon.store.measure_size()),
        ]


async def _keep_running(run: Callable[[], Awaitable[None]], trouble: CollectorTrouble) -> None:
    """Run an exporter; restart it after a fault."""
    while True:
        try:
            await run()
        except Exception:  # a fault here must not end the daemon; the operator is told
            log.exception("collector_broke", server=trouble.server, signal=trouble.signal)
        await anyio.sleep(
            trouble.record_failure("an internal fault; see: orchestrator logs", RETRY_SECONDS)
        )
