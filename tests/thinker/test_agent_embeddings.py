"""An agent that selects its tools by the embedding of a message."""

import pytest
from fakes.embeddings_api import EmbeddingsApi, vector
from fakes.scripted import ScriptedModel, says, spec, turn_run
from structlog.testing import capture_logs

from thinker.agent import Agent
from thinker.models.choose import choose_embeddings
from thinker.protocol.background import EmbeddingRequest
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.vectors import pack_vector
from thinker.toolcalls.select import CAP
from thinker.worker_errors import FatalModelError

SKY = spec("sky").model_copy(update={"description": "The meteorological forecast"})
TOOLS = (SKY, *(spec(f"other_{number}") for number in range(CAP + 5)))
UMBRELLA = pack_vector(vector("umbrella?"))


async def test_kept_vectors_bring_the_tool_the_score_and_the_temperature() -> None:
    """The log and the record say so; without the message's vector nothing changes."""
    async with EmbeddingsApi() as api:
        settings = ThinkerSettings(
            embeddings_model="m", embeddings_base_url=f"{api.url}/v1", temperature=0.7
        )
        embeddings = choose_embeddings(settings, {})
        assert embeddings is not None
        agent = Agent(settings, ScriptedModel(says("Rain.")), embeddings=embeddings)
        kept = await agent.embed_texts(
            EmbeddingRequest(texts=tuple(tool.embedding_text for tool in TOOLS), keep=True)
        )
        await embeddings.aclose()
    assert (kept.vectors, kept.usage.prompt > 0) == ((), True)
    with capture_logs() as logs:
        prepared = agent.preparation.prepare_turn(turn_run("umbrella?", *TOOLS, vector=UMBRELLA))
        prepared.log_sizes()
    assert prepared.prompt.settings is not None
    assert prepared.prompt.settings.temperature == 0.3
    assert prepared.prompt.reasons["sky"] == "meaning 1.00"
    assert (prepared.prompt.best_score, prepared.prompt.temperature) == (0.999, 0.3)
    (line,) = [line for line in logs if line["event"] == "tools_selected"]
    assert (line["best_score"], line["temperature"]) == (0.999, 0.3)
    unknown = agent.preparation.prepare_turn(turn_run("umbrella?", *TOOLS))
    assert unknown.prompt.settings is not None
    assert (unknown.prompt.settings.temperature, unknown.prompt.best_score) == (0.7, None)
    assert "sky" not in unknown.prompt.reasons


async def test_agent_without_a_model_cannot_say_what_texts_mean() -> None:
    """The request is answered with an error."""
    agent = Agent(ThinkerSettings(), ScriptedModel())
    with pytest.raises(FatalModelError, match="no embeddings"):
        await agent.embed_texts(EmbeddingRequest(texts=("x",)))
