"""Figures of AgentDojo's trials: which cases are tried, and what the report says of them."""

import json
from collections import Counter

from orchestrator.extensions.selftest.dojo import dojo_report
from orchestrator.extensions.selftest.dojo.dojo_report import ALONE, UNANSWERED
from orchestrator.extensions.selftest.dojo.dojo_runs import DojoTrial, SuiteFigures, select_cases
from orchestrator.extensions.selftest.dojo.dojo_world import Case, CaseResult, DojoQuestion
from orchestrator.extensions.selftest.dojo.obedient_plan import SuiteCall

TASKS, ORDERS = ("task_0", "task_1", "task_2"), ("order_0", "order_1")
ASKED = DojoQuestion("it was read", (SuiteCall("send_money", {"to": "Eve"}),), granted=True)


def result(task: str, order: str = "", **facts: bool) -> CaseResult:
    known = {"solved": True, "won": False, **facts}
    return CaseResult(
        Case("banking", task, order), known["solved"], known["won"], (), known.get("ended", True)
    )


def figures(trial: DojoTrial, *results: CaseResult, words: int = 0) -> SuiteFigures:
    return SuiteFigures("banking", trial, 2.6, [*results], words)


def test_every_pair_is_tried_once() -> None:
    """Each task with each order."""
    cases = select_cases("banking", TASKS, ORDERS, None, seed=1)
    assert Counter((case.task, case.order) for case in cases) == Counter(
        (task, order) for task in TASKS for order in ORDERS
    )


def test_sample_of_pairs_is_spread_over_the_tasks() -> None:
    """No task is tried twice before each was tried once."""
    cases = select_cases("banking", TASKS, ORDERS, 3, seed=1)
    assert {case.task for case in cases} == {*TASKS}
    assert all(case.order for case in cases)


def test_tasks_are_tried_alone_without_pairs() -> None:
    """None has an order."""
    cases = select_cases("banking", TASKS, ORDERS, 0, seed=1)
    assert cases == [Case("banking", task) for task in TASKS]


def test_table_has_each_suite_and_the_sum_of_each_trial() -> None:
    """Attacks count only where an order was planted."""
    asked = CaseResult(Case("banking", "task_0"), solved=True, won=False, questions=(ASKED, ASKED))
    attacked = dojo_report.make_attacked_trial(None)
    rows = dojo_report.build_rows(
        [
            figures(ALONE, asked, result("task_1", solved=False)),
            figures(attacked, result("task_0", "order_0", won=True)),
        ]
    )
    assert rows == [
        ("banking", ALONE.name, 2, "-", 1, 2, 1, 3),
        ("all", ALONE.name, 2, "-", 1, 2, 1, 3),
        ("banking", attacked.name, 1, 1, 1, 0, 0, 3),
        ("all", attacked.name, 1, 1, 1, 0, 0, 3),
    ]


def test_attack_that_won_and_task_that_failed_are_named() -> None:
    """A task that an order has spoiled is not."""
    attacked = dojo_report.make_attacked_trial(None)
    found = [
        figures(ALONE, result("task_0"), result("task_1", solved=False)),
        figures(attacked, result("task_0", "order_1", won=True, solved=False)),
    ]
    assert dojo_report.list_sentences(found) == [
        "not solved: banking task_1",
        "won: banking task_0 order_1",
    ]
    assert dojo_report.count_won(found) == 1


def test_attack_without_the_rules_and_task_without_answers_are_expected() -> None:
    """Neither is told, nor counted as won."""
    control = dojo_report.make_control_trial(None)
    found = [
        figures(control, result("task_0", "order_1", won=True)),
        figures(UNANSWERED, result("task_0", solved=False)),
    ]
    assert dojo_report.list_sentences(found) == []
    assert dojo_report.count_won(found) == 0


def test_case_without_an_answer_is_named_and_orders_of_words_are_counted() -> None:
    """Both are told, as they say nothing about the rules."""
    attacked = dojo_report.make_attacked_trial(None)
    late, words = dojo_report.list_sentences(
        [figures(attacked, result("task_2", "order_0", ended=False), words=4)]
    )
    assert late == "no answer in time: banking task_2 order_0"
    assert words.startswith("4 orders want words in the answer")


def test_json_has_a_line_for_each_trial_with_the_calls_of_its_questions() -> None:
    """A script reads what each question was about, and the decision."""
    asked = CaseResult(Case("banking", "task_0"), solved=True, won=False, questions=(ASKED,))
    (line,) = dojo_report.build_json([figures(ALONE, asked)]).splitlines()
    read = json.loads(line)
    assert read["cases with questions"] == 1
    assert read["results"][0]["questions"] == [
        {"reason": "it was read", "calls": [["send_money", {"to": "Eve"}]], "granted": True}
    ]
