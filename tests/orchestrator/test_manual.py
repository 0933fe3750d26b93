"""The search through the manual: words, other forms, other words for the same, ranking."""

import pytest

from orchestrator.manual import ManualIndex, clean_markdown, load_manual, split_sections

PAGES = {
    "birds": "# Birds\n\nAbout pigeons.\n\n## Feed them\n\nSeeds in `contextTokens` every day.\n",
    "boats": "# Boats\n\nOne boat.\n\n## In a container\n\nTwo pigeons; feeding is hard.\n",
    "fields": "<!-- Written -->\n\n# Fields\n\n| a |\n|---|\n| `feedMinutes` how often |\n",
}


@pytest.fixture(scope="module")
def manual() -> ManualIndex:
    """The whole manual."""
    return ManualIndex(load_manual(pytest.fail))


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("docker", "docker"),
        ("container on one machine", "docker"),
        ("ollama", "local-models"),
        ("local model", "local-models"),
        ("llama.cpp", "local-models"),
        ("num_ctx", "local-models"),
        ("move", "moving"),
        ("moving to another machine", "moving"),
        ("second machine", "postgresql"),
        ("heartbeat", "heartbeat"),
        ("agent writes first", "heartbeat"),
        ("dry run of a skill", "tasks"),
        ("delete", "operating"),
        ("forget someone", "operating"),
        ("bots", "groups"),
        ("two bots", "groups"),
        ("how do I add a second bot?", "groups"),
        ("cost", "budgets"),
        ("spend money", "budgets"),
        ("tokensPerHour", "agents-json"),
        ("restore", "operating"),
        ("dlq retry", "commands"),
        ("speech", "voice"),
    ],
)
def test_question_finds_the_right_page_first_or_second(
    question: str, page: str, manual: ManualIndex
) -> None:
    """As people ask, with the words of other systems."""
    assert page in [hit.page for hit in manual.search(question)[:2]]


def test_person_is_found_where_people_are_forgotten(manual: ManualIndex) -> None:
    """One of the first pages tells it."""
    found = [hit.page for hit in manual.search("person")[:4]]
    assert {"operating", "memory", "groups"} & {*found}


def test_every_word_counts_and_forms_of_words_are_found() -> None:
    """The page with all words is first; a heading weighs more than text."""
    index = ManualIndex(PAGES)
    assert [hit.page for hit in index.search("pigeon feeds")] == ["boats", "birds", "fields"]
    assert index.search("containers")[0].heading == "In a container"
    assert index.search("minutes")[0].page == "fields"
    assert index.search("context tokens")[0].heading == "Feed them"


def test_passage_is_plain_text_around_the_words() -> None:
    """Without marks of Markdown."""
    [hit, *_] = ManualIndex(PAGES).search("seeds")
    assert hit.passage == "Seeds in contextTokens every day."
    assert clean_markdown("## H\n\n[a](b.md) | `c` **d**\n") == "a c d"


@pytest.mark.parametrize("question", ["", "zxqv", "?!", '" OR "', "NEAR(", "the"])
def test_question_without_a_known_word_finds_nothing_or_little(question: str) -> None:
    """Signs of the query language are text."""
    assert isinstance(ManualIndex(PAGES).search(question), tuple)
    assert ManualIndex(PAGES).search("zxqv") == ()


def test_sections_begin_at_their_headings() -> None:
    """What precedes the first one belongs to none."""
    assert split_sections(PAGES["birds"]) == {
        "Feed them": "## Feed them\n\nSeeds in `contextTokens` every day.\n"
    }
