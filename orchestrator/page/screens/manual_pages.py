"""The manual: the pages of the bundled guide, which agents read as well."""

import re
from functools import cache

import htpy as h
from markupsafe import Markup

from orchestrator.home_paths import bundled
from orchestrator.page.html.forms import link
from orchestrator.page.html.markdown import rendered
from orchestrator.page.visit import Screen, Shown, Visit

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
TITLE = re.compile(r"\A\s*# [^\n]*\n")
# A link to another page, as `markdown` shows what is no address of the web.
OWN_LINK = re.compile(r"<span>\[(?:references/)?([a-z-]+)\.md(#[a-z0-9-]*)?\] (.*?)</span>")


@cache
def pages() -> dict[str, str]:
    """Return the pages by name; they are read once, before the jail closes."""
    guide = bundled("skills") / "orchestrator-guide"
    found = {path.stem: path.read_text("utf-8") for path in sorted(guide.glob("references/*.md"))}
    return {"": (guide / "SKILL.md").read_text("utf-8"), **found}


async def _index(visit: Visit) -> Shown:
    del visit
    return draw(pages()[""])


async def _page(visit: Visit) -> Shown:
    topic = visit.path["topic"].removesuffix(".md")
    if not topic or topic not in pages():
        return h.p(class_="empty")["There is no such page. ", h.a(href="/manual")["All pages"]]
    return [h.p[h.a(href="/manual")["◂ all pages"]], draw(pages()[topic])]


def draw(text: str) -> h.Node:
    """Draw a page, with links to the others."""
    body = TITLE.sub("", FRONT_MATTER.sub("", text))
    html = OWN_LINK.sub(
        lambda found: f'<a href="{link("manual", found[1])}{found[2] or ""}">{found[3]}</a>',
        str(rendered(body)),
    )
    return h.article(class_="manual")[Markup(html)]  # noqa: S704 - the program's own text, escaped


SCREENS = (
    Screen("/manual", "Manual", None, _index, "Manual"),
    Screen("/manual/{topic}", "Manual", None, _page, "Manual"),
)
