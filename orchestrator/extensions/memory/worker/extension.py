"""Let workers summarize conversations and extract facts."""

from collections.abc import Awaitable, Mapping
from typing import TypeVar

import anyio

from orchestrator.extensions.memory import memory_requests
from orchestrator.extensions.memory.memory_requests import (
    CompactionRequest,
    CompactionResult,
    ExtractionRequest,
    ExtractionResult,
)
from orchestrator.extensions.memory.worker import compaction, facts
from thinker.extension import BackgroundRequest, WorkerExtension, WorkerView
from thinker.prompt.layers import find_zone
from thinker.protocol.model_endpoints import find_call_seconds
from thinker.worker_errors import RetryableModelError

R = TypeVar("R")


class MemoryWorker(WorkerExtension):
    """Answers the requests of the memory with the agent's small model."""

    def list_requests(self, worker: WorkerView) -> Mapping[str, BackgroundRequest]:
        settings, model = worker.settings, worker.small
        zone, _ = find_zone(settings.user_timezone)

        async def compact_session(request: CompactionRequest) -> CompactionResult:
            path = settings.compaction_prompt_path
            return await limit_time(compaction.compact_session(model, path, request, zone))

        async def extract_facts(request: ExtractionRequest) -> ExtractionResult:
            path = settings.fact_extraction_prompt_path
            return await limit_time(facts.extract_facts(model, path, request, zone))

        async def limit_time(work: Awaitable[R]) -> R:
            seconds = find_call_seconds(settings)
            with anyio.move_on_after(seconds):
                return await work
            raise RetryableModelError(f"{model.name} did not answer in {seconds:.0f} seconds")

        return {
            memory_requests.SESSION_COMPACT: BackgroundRequest(
                CompactionRequest, compact_session, gives_way=True
            ),
            memory_requests.FACTS_EXTRACT: BackgroundRequest(
                ExtractionRequest, extract_facts, gives_way=True
            ),
        }
