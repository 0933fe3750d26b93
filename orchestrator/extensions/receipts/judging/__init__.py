"""Judge the sentences of an answer that report an effect, by words alone and without a model.

`judge_answer` splits the answer into sentences, chooses its language by its words, finds the
sentences in which the speaker says that something was done, and looks for a call that shows it.
What each language says is data in `words`, one file a language; what tools do is `effects.json`.
A language without a file is not judged.
"""

from orchestrator.extensions.receipts.judging.judgement import judge_answer as judge_answer
from orchestrator.extensions.receipts.judging.languages import load_languages as load_languages
from orchestrator.extensions.receipts.judging.reported_calls import Claim as Claim
from orchestrator.extensions.receipts.judging.reported_calls import JudgedCall as JudgedCall
from orchestrator.extensions.receipts.judging.reported_calls import KnownTool as KnownTool
