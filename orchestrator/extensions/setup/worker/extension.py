"""Let workers try their model."""

from collections.abc import Mapping

from orchestrator.extensions.setup.trial_requests import (
    MODEL_TRY,
    ModelTrialRequest,
    ModelTrialResult,
)
from orchestrator.extensions.setup.worker.model_trials import run_trial
from thinker.extension import BackgroundRequest, WorkerExtension, WorkerView


class SetupWorker(WorkerExtension):
    """Answers the requests of `orchestrator models test`."""

    def list_requests(self, worker: WorkerView) -> Mapping[str, BackgroundRequest]:
        async def try_model(request: ModelTrialRequest) -> ModelTrialResult:
            return await run_trial(worker.settings, worker.embeddings, request.trial)

        return {MODEL_TRY: BackgroundRequest(ModelTrialRequest, try_model)}
