"""Agently's model of an answer."""

from orchestrator.extensions.agently.output_model import build_upstream_model
from thinker.prompt.render.output_contract import output_model


def test_every_field_is_optional() -> None:
    """Ours would be refused without it."""
    model = output_model({"a": str}, build_upstream_model)
    assert model.model_validate({}).model_dump() == {"a": None}
