"""Settings of the local model in agents.json."""

import os
from pathlib import Path

from pydantic import Field

from orchestrator.agentsfile.field_types import ConfigModel, Text

FOLDER = "models"  # in the home
USUAL = "smollm2-135m.gguf"


class LocalModelSettings(ConfigModel):
    """The model of agents with `"llmProvider": "local"`, and how it is run."""

    file: Text = USUAL
    """Name of a GGUF file in the folder `models` of the home, or its whole path."""
    context_tokens: int = Field(4096, ge=512, le=1_048_576)
    """Tokens of a conversation that the model reads at once; more take more memory."""
    threads: int = Field(0, ge=0, le=512)
    """Processor cores to use; 0 uses all but one."""

    def find_file(self, home: Path) -> Path:
        """Return the path of the model's file, which may not exist."""
        return home / FOLDER / self.file

    @property
    def used_threads(self) -> int:
        """The processor cores that the server uses."""
        return self.threads or max(1, (os.cpu_count() or 1) - 1)
