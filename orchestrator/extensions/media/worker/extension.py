"""Let workers transcribe, speak and draw."""

from collections.abc import Mapping

from orchestrator.extensions.media import sound_requests as asked
from orchestrator.extensions.media.worker.media_models import (
    DrawingEndpoint,
    HearingEndpoint,
    MediaModels,
    SpeakingEndpoint,
)
from thinker.extension import BackgroundRequest, WorkerExtension, WorkerView
from thinker.models.failures import format_headline
from thinker.models.served_endpoint import ServedModelEndpoint
from thinker.protocol import model_endpoints
from thinker.protocol.media_requests import PICTURE_DRAW, DrawingRequest
from thinker.protocol.model_endpoints import ServedUse
from thinker.protocol.served_models import ServedModel
from thinker.worker_errors import WorkerConfigError


class MediaWorker(WorkerExtension):
    """Answers the requests of agents that have models for sound or pictures."""

    def list_requests(self, worker: WorkerView) -> Mapping[str, BackgroundRequest]:
        models = choose_media(worker)
        if models is None:
            return {}
        worker.stack.push_async_callback(models.aclose)
        return {
            asked.AUDIO_HEAR: BackgroundRequest(
                asked.TranscriptionRequest, models.transcribe_recording, describe=format_headline
            ),
            asked.AUDIO_SPEAK: BackgroundRequest(
                asked.SpeechRequest, models.speak_text, describe=format_headline
            ),
            PICTURE_DRAW: BackgroundRequest(
                DrawingRequest, models.draw_pictures, describe=format_headline
            ),
        }


def choose_media(worker: WorkerView) -> MediaModels | None:
    """Build the models for sound and pictures; return None if the agent has none.

    An unusable model does not keep the agent from answering: requests for it fail with the reason.
    """
    hear, speak, draw = worker.settings.hear, worker.settings.speak, worker.settings.draw
    if not (hear or speak or draw):
        return None

    def find_place(use: ServedUse, model: ServedModel) -> ServedModelEndpoint:
        try:
            return worker.find_endpoint(use, model)
        except WorkerConfigError as error:
            problem = str(error).removeprefix("agents.json: ").replace(": ", ", ")
            return ServedModelEndpoint(model_endpoints.PLAIN, "", "", problem=problem)

    return MediaModels(
        HearingEndpoint(hear, find_place("hear", hear)) if hear else None,
        SpeakingEndpoint(speak, find_place("speak", speak)) if speak else None,
        DrawingEndpoint(draw, find_place("draw", draw)) if draw else None,
    )
