"""Metrics for whom asks, and metrics and traces for a collector."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Self

import anyio
import structlog

from orchestrator.control.operations import DaemonOperations
from orchestrator.control.status import in_use
from orchestrator.errors import ConfigError
from orchestrator.files import OffLoop
from orchestrator.processes import restarts
from orchestrator.telemetry import journal_look, live_figures, prometheus_text
from orchestrator.telemetry import metric_catalog as catalog
from orchestrator.telemetry.collector_trouble import CollectorTrouble
from orchestrator.telemetry.exporter_parts import ExporterParts
from orchestrator.telemetry.journal_counters import JournalCounters
from orchestrator.telemetry.journal_look import JournalPlace
from orchestrator.telemetry.metric_families import Growing, Readings
from orchestrator.telemetry.otlp_settings import OtlpSettings, given_variables, without_effect

WRONG = "{problem}; until that is corrected, nothing is sent to a collector"
AGAIN = 60.0  # seconds after a fault of the program
log = structlog.get_logger()


class Telemetry:
    """What the daemon tells other systems; its counters begin behind ``place``, at ``started``.

    ``environ`` is the daemon's environment with its keys, which may change. ``chance`` returns
    random numbers in [0, 1). ``pages`` are served to programs with the token of the endpoints.
    """

    def __init__(
        self,
        daemon: DaemonOperations,
        environ: Mapping[str, str],
        in_thread: OffLoop,
        chance: Callable[[], float],
        started: int,
        place: JournalPlace,
    ) -> None:
        self._daemon, self._environ, self._in_thread = daemon, environ, in_thread
        store, self._started = daemon.store, started
        self._counters = JournalCounters(store.address, place, daemon.clock, in_thread)
        self._parts = ExporterParts(
            *(store, self._readings, Growing[float](catalog.SPANS), self._started),
            *(daemon.clock, in_thread, partial(restarts.jitter, chance)),
        )
        self._wrong: tuple[str, ...] = ()
        self._troubles: list[CollectorTrouble] = []
        self.pages = {"/metrics": self._metrics}

    @classmethod
    async def begun(
        cls,
        daemon: DaemonOperations,
        environ: Mapping[str, str],
        in_thread: OffLoop,
        chance: Callable[[], float],
    ) -> Self:
        """Return it with counters that begin at the journal's end."""
        started = daemon.clock()
        place = await daemon.store.read(journal_look.end, started)
        return cls(daemon, environ, in_thread, chance, started, place)

    def hints(self) -> tuple[str, ...]:
        """Return what the operator should know: wrong settings, and a collector that is away."""
        return (*self._wrong, *(hint for trouble in self._troubles for hint in trouble.hints()))

    async def run(self) -> None:
        """Send to a collector if there is one, until canceled; an edit of its settings is live."""
        while True:
            given = given_variables(self._environ)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send)
                while given_variables(self._environ) == given:
                    await self._daemon.configuration.changed()
                tasks.cancel_scope.cancel()

    async def _send(self) -> None:
        settings = self._settings()
        if settings.traces is None and settings.metrics is None:
            return
        # Most daemons send nothing, and do without an HTTP client.
        from orchestrator.telemetry import otlp_exporters  # noqa: PLC0415 - see above

        web = otlp_exporters.web_client(settings)
        exporters = otlp_exporters.exporters(settings, self._parts, web)
        self._troubles = [exporter.trouble for exporter in exporters]
        try:
            async with anyio.create_task_group() as tasks:
                for exporter in exporters:
                    tasks.start_soon(_kept, exporter.run, exporter.trouble)
        finally:
            self._troubles = []
            web.close()

    def _settings(self) -> OtlpSettings:
        """Return the settings that can be used, and note what is wrong with them."""
        settings, wrong = OtlpSettings(), list(without_effect(self._environ))
        try:
            settings = OtlpSettings.read(self._environ)
        except ConfigError as error:
            wrong += [WRONG.format(problem=line) for line in str(error).splitlines()]
        for problem in wrong:
            log.warning("config_problem", problem=problem)
        self._wrong = tuple(wrong)
        return settings

    async def _metrics(self) -> tuple[str, bytes]:
        """Return the media type and the text that Prometheus reads.

        Raises:
            JournalError: the journal cannot be read.
        """
        text = await self._in_thread(prometheus_text.render, await self._readings())
        return prometheus_text.MEDIA_TYPE, text

    async def _readings(self) -> Sequence[Readings]:
        counted, daemon = await self._counters.readings(), self._daemon
        statuses = (adapter.status for adapter in in_use(daemon.adapters.values()))
        return [
            *counted,
            self._parts.spans.readings(),
            live_figures.workers(daemon.supervisor.slots),
            *live_figures.channels(statuses, daemon.clock() / 1000),
            live_figures.tool_servers(daemon.servers.states()),
            *live_figures.process(self._started / 1000, daemon.store.size()),
        ]


async def _kept(run: Callable[[], Awaitable[None]], trouble: CollectorTrouble) -> None:
    """Run an exporter, and after a fault in it once more."""
    while True:
        try:
            await run()
        except Exception:  # a fault here must not end the daemon; the operator is told
            log.exception("collector_broke", server=trouble.server, signal=trouble.signal)
        await anyio.sleep(trouble.failed("a fault of the program; see: orchestrator logs", AGAIN))
