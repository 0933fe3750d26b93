"""The tables of words, and the choice of a language."""

import pytest

from orchestrator.extensions.receipts.judging.claim_kinds import load_effect_tables
from orchestrator.extensions.receipts.judging.detection import HOW
from orchestrator.extensions.receipts.judging.languages import choose_language, load_languages
from orchestrator.extensions.receipts.judging.named_values import fold_text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Email sent.", "en"),
        ("E-Mail gesendet.", "de"),
        ("Correo enviado.", "es"),
        ("E-mail envoyé à ventes@societe.fr", "fr"),
        ("Usunięto plik report.pdf", "pl"),
        ("已发送", "zh"),
        ("メールを送りました。", None),
        ("Xyzzy", None),
    ],
)
def test_language_is_chosen_by_the_answers_own_words(text: str, name: str | None) -> None:
    """A few words are enough; names of files do not count."""
    found = choose_language([text])
    assert (found and found.name) == name


def test_each_group_of_verbs_is_known() -> None:
    """A table that names another one could not be judged."""
    groups = load_effect_tables().groups
    for language in load_languages().values():
        assert set(language.file.verbs) <= set(groups), language.name
        assert set(language.patterns) <= set(HOW), language.name


def test_kinds_have_notes() -> None:
    """Each kind that a claim may have says what is missing."""
    tables = load_effect_tables()
    assert {group.kind for group in tables.groups.values()} <= set(tables.notes)
    assert set(tables.kinds) <= set(tables.notes)


@pytest.mark.parametrize("name", ["en", "de", "es", "fr", "pl", "zh"])
def test_full_languages_have_verbs_of_each_kind(name: str) -> None:
    """Forms, not lemmas."""
    language, groups = load_languages()[name], load_effect_tables().groups
    kinds = {groups[group].kind for found in language.groups.values() for group in found}
    assert kinds >= {"send", "write", "delete", "schedule", "remember", "pay", "change", "call"}


def test_folded_text_has_no_accents() -> None:
    """Names are compared so."""
    assert fold_text("Łódź Müller É") == "lodz muller e"
