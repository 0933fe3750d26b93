"""Requests of `orchestrator models test` to a worker."""

from typing import Literal, TypeAlias, get_args

from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Frozen

MODEL_TRY = "model/try"
Trial: TypeAlias = Literal["chat", "tools", "images", "schema", "embeddings"]
TRIALS: tuple[Trial, ...] = get_args(Trial)


class ModelTrialRequest(Frozen):
    """A request for one small call that shows whether the agent's model has an ability."""

    trial: Trial


class ModelTrialResult(MeteredResult):
    """The outcome of a trial; ``problem`` is the provider's reason why the model lacks the ability.

    ``note`` is additional information. A streamed answer has the seconds ``before`` its first word
    and those of the ``rest``.
    """

    note: str = ""
    before: float = 0.0
    rest: float = 0.0
