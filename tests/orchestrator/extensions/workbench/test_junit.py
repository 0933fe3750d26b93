"""The report as JUnit XML, as a parser of XML reads it."""

from xml.etree.ElementTree import Element, fromstring

from orchestrator.extensions.workbench.junit import format_junit
from orchestrator.extensions.workbench.set_runs import SetOutcome, SetReport

REPORT = SetReport(
    name="daily",
    outcomes=(
        SetOutcome(turn="t1", question="On time?", outcome="green", ms=1500),
        SetOutcome(turn="t2", question='<b> & "\x1b[31m"', outcome="red", why="says: /a<b/: no"),
        SetOutcome(
            turn="t3", outcome="open", why="the budget is used up", opinions=("no opinion\x00",)
        ),
        SetOutcome(turn="t4", outcome="impossible", why="a picture is gone\x00"),
    ),
)


def read_report() -> Element:
    """The report as a CI system reads it."""
    return fromstring(format_junit(REPORT))  # noqa: S314 - what we wrote ourselves


def test_each_outcome_has_its_element() -> None:
    """A CI system shows red ones as failures, and what could not be tried as errors."""
    (suite,) = read_report().findall("testsuite")
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")]
    assert counts == ["4", "1", "1", "1", "1.500"]
    cases = suite.findall("testcase")
    assert [[one.tag for one in case] for case in cases] == [
        [],
        ["failure"],
        ["error", "system-out"],
        ["skipped"],
    ]
    assert [case.get("classname") for case in cases] == ["daily"] * 4
    assert [case.get("name") for case in cases][::2] == ["t1 On time?", "t3"]


def test_what_xml_cannot_hold_is_replaced() -> None:
    """Control characters of models and people would make the file unreadable."""
    _, red, judged, lost = read_report().iter("testcase")
    assert red.get("name") == 't2 <b> & "\ufffd[31m"'
    assert red[0].get("message") == "says: /a<b/: no"
    assert judged[1].text == "no opinion\ufffd"
    assert lost[0].text == "a picture is gone\ufffd"
