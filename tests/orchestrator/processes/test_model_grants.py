"""What the broker may do for an agent."""

from orchestrator.processes.model_grants import build_grants
from thinker.protocol.env import ThinkerSettings


def test_an_agent_of_xai_is_sent_to_the_server_that_has_its_prompt() -> None:
    """By a header that is equal for all of its requests and says nothing of the agent."""
    keys = {"XAI_API_KEY": "key"}
    values = []
    for agent_id in ("work", "work", "home"):
        settings = ThinkerSettings(agent_id=agent_id, llm_provider="xai", model="grok-4.3")
        grant, *_ = build_grants(settings, keys)
        values.append(grant.headers["x-grok-conv-id"])
    assert values[0] == values[1] != values[2]
    assert "work" not in values[0]
    grant, *_ = build_grants(ThinkerSettings(llm_provider="groq", model="m"), {"GROQ_API_KEY": "k"})
    assert grant.headers == {"authorization": "Bearer k"}
