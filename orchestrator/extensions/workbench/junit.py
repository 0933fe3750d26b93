"""The report of a run of a set as JUnit XML, which CI systems show."""

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from orchestrator.extensions.workbench.set_runs import Outcome, SetReport

# What an outcome is called there; a green turn has no such element.
ELEMENTS: dict[Outcome, str] = {"red": "failure", "open": "error", "impossible": "skipped"}
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
MAX_MESSAGE = 500  # characters


def format_junit(report: SetReport) -> str:
    """Return a report as XML: one suite, and a test case for each turn."""
    outcomes = report.outcomes
    seconds = sum(one.ms for one in outcomes) / 1000
    suite = Element(
        "testsuite",
        name=_clean(report.name),
        tests=str(len(outcomes)),
        failures=str(len(report.list_outcomes("red"))),
        errors=str(len(report.list_outcomes("open"))),
        skipped=str(len(report.list_outcomes("impossible"))),
        time=f"{seconds:.3f}",
    )
    for one in outcomes:
        case = SubElement(
            suite,
            "testcase",
            classname=_clean(report.name),
            name=_clean(f"{one.turn} {one.question}".strip()),
            time=f"{one.ms / 1000:.3f}",
        )
        if one.outcome in ELEMENTS:
            message = _clean(one.why)[:MAX_MESSAGE]
            found = SubElement(case, ELEMENTS[one.outcome], message=message)
            found.text = _clean(one.why)
        if one.opinions:
            SubElement(case, "system-out").text = _clean("\n".join(one.opinions))
    suites = Element("testsuites")
    suites.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Return a text without characters that XML cannot have."""
    return FORBIDDEN.sub("\ufffd", text)
