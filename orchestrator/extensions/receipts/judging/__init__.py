"""Judge the sentences of an answer that report an effect, by words alone and without a model.

`judge_answer` splits the answer into sentences, chooses its language by its words, finds the
sentences in which the speaker says that something was done, and looks for a call that shows it.
What each language says is data in `words`, one file a language; what tools do is `effects.json`.
A language without a file is not judged.
"""

from orchestrator.extensions.receipts.judging.claim_kinds import load_effect_tables
from orchestrator.extensions.receipts.judging.judgement import (
    judge_answer,
    judge_read_answer,
    read_answer,
)
from orchestrator.extensions.receipts.judging.prose import load_letter_patterns
from orchestrator.extensions.receipts.judging.reported_calls import Claim, JudgedCall, KnownTool

__all__ = [
    "Claim",
    "JudgedCall",
    "KnownTool",
    "judge_answer",
    "judge_read_answer",
    "load_tables",
    "read_answer",
]


def load_tables() -> None:
    """Read all tables and index them; call it before the process loses its access to files."""
    load_effect_tables()
    load_letter_patterns()
    judge_answer("I've sent the mail.", (), ())
