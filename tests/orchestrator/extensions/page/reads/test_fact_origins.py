"""What facts were before a person edited them."""

from pathlib import Path

from fakes.journal import booted, job

from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.extensions.page.reads import fact_origins
from orchestrator.journal.memory.memory_scope import MemoryScope


def test_edited_fact_keeps_where_it_was_said(tmp_path: Path) -> None:
    """Also after several edits; a fact that was never edited has no other origin."""
    scope = MemoryScope.for_whole_agent("home")
    with booted(tmp_path) as db, job(db):
        said = Statement(fact="Likes tea", category="preference", source="turn t1")
        stored = fact_changes.store_statement(db, scope, said, 1)
        assert stored is not None
        first = stored.id
        assert fact_origins.find_origins(db, [first]) == {}
        second = fact_changes.edit_fact(db, scope, first, "Likes green tea", "operator", 2).id
        third = fact_changes.edit_fact(db, scope, second, "Likes mint", "operator", 3).id
        assert fact_origins.find_origins(db, [second, third]) == dict.fromkeys(
            (second, third), "turn t1"
        )
        assert fact_origins.list_memory_places(db).agents == ("home",)
