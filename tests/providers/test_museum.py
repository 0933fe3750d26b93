"""Every case of the museum, replayed on the wire: in pieces of every kind, and across crashes."""

from operator import attrgetter
from pathlib import Path

import pytest
from fakes.museum import Case, Json, find_values, holds, load_cases
from fakes.museum_visit import Visit, visit_case

FOLDER = Path(__file__).parent
CASES = load_cases(FOLDER)
STREAMS = [case for case in CASES if case.streams]
RESUMED = [case for case in CASES if case.resumes]
NAME = attrgetter("name")


@pytest.mark.parametrize("case", CASES, ids=NAME)
async def test_a_conversation_with_a_provider_comes_out_as_it_should(case: Case) -> None:
    """What the case expects holds."""
    check(case, await visit_case(case))


@pytest.mark.parametrize("case", STREAMS, ids=NAME)
@pytest.mark.parametrize("size", [1, 7])
async def test_a_stream_reads_the_same_in_pieces_of_any_size(case: Case, size: int) -> None:
    """Bytes may be cut anywhere, within a character as well."""
    check(case, await visit_case(case, size=size))


@pytest.mark.parametrize("case", RESUMED, ids=NAME)
async def test_a_conversation_comes_out_the_same_if_each_step_has_another_process(
    case: Case,
) -> None:
    """What a provider wants back survives a crash between any two steps."""
    check(case, await visit_case(case, crash=True), crashed=True)


def test_the_museum_has_many_providers() -> None:
    """Each provider has a folder; each case names its source."""
    folders = {case.name.partition("/")[0] for case in CASES}
    assert len(folders) >= 20
    assert all(case.expect for case in CASES)


def check(case: Case, visit: Visit, *, crashed: bool = False) -> None:
    """Compare what came of a visit with what the case expects, one field after the other."""
    for key, wanted in case.expect.items():
        if key == "requests" and crashed:
            continue  # a new process learns anew what the provider refuses
        found = measure(key, visit)
        seen = f"{case.name}: {key}: {found!r}\n{[result.error for result in visit.results]}"
        if key in ("sends", "sent"):
            bodies = visit.requests if key == "sent" else visit.requests[-1:]
            for condition in wanted:
                assert any(holds(condition, *request) for request in bodies), f"{seen} {condition}"
        elif key in ("contains", "errors", "degraded"):
            assert all(str(word) in str(found) for word in wanted), seen
        elif key == "lacks":
            assert not [word for word in wanted if str(word) in str(found)], seen
        elif key == "waits":
            assert found >= wanted, seen
        else:
            assert found == wanted, seen


def measure(key: str, visit: Visit) -> Json:
    """Return what a field of ``expect`` is compared with."""
    last = visit.results[-1]
    steps = [made.step for made in visit.commits]
    answers = [step.response for step in steps]
    calls = [call for answer in answers for call in answer.tool_calls]
    measures: dict[str, Json] = {
        "text": last.text,
        "texts": [result.text for result in visit.results],
        "contains": last.text,
        "lacks": [*visit.shown, *(result.text for result in visit.results)],
        "stop": last.stop_reason.value,
        "stops": [result.stop_reason.value for result in visit.results],
        "errors": last.error or "",
        "calls": [[call.name, call.arguments] for call in calls],
        "finish": steps[-1].finish if steps else None,
        "usage": [steps[-1].usage.prompt, steps[-1].usage.completion] if steps else None,
        "cached": steps[-1].usage.cached if steps else None,
        "requests": len(visit.requests),
        "degraded": [one.model_dump() for one in visit.degraded],
        "waits": max(visit.waits, default=0),
        "sends": "the last request",
        "sent": "no request",
    }
    assert key in measures, f"unknown expectation {key!r}"
    return measures[key]


def test_a_path_finds_values_in_a_request() -> None:
    """Conditions of cases rest on it."""
    body = {"messages": [{"role": "user"}, {"role": "assistant", "calls": [{"id": "a"}]}]}
    assert find_values(body, "messages[role=assistant].calls[].id") == ["a"]
    assert find_values(body, "messages[calls]") == [body["messages"][1]]
    assert find_values(body, "messages[].role") == ["user", "assistant"]
