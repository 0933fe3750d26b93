"""The manual: the pages of the bundled guide, which agents read as well."""

import re
from functools import cache

import htpy as h
from markupsafe import Markup

from orchestrator.extensions.page.html.forms import build_link, render_filters
from orchestrator.extensions.page.html.markdown import render_markdown
from orchestrator.extensions.page.html.parts import render_blank, render_link_button
from orchestrator.extensions.page.reads import stamps
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.home_paths import find_bundled_path
from orchestrator.manual import ManualIndex

MAX_QUESTION = 200  # characters
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
TITLE = re.compile(r"\A\s*# [^\n]*\n")
# A link to another page, as `markdown` renders non-web links.
OWN_LINK = re.compile(r"<span>\[(?:references/)?([a-z-]+)\.md(#[a-z0-9-]*)?\] (.*?)</span>")


@cache
def load_manual_pages() -> dict[str, str]:
    """Load the pages, keyed by name, once before the jail closes."""
    guide = find_bundled_path("skills") / "orchestrator-guide"
    found = {path.stem: path.read_text("utf-8") for path in sorted(guide.glob("references/*.md"))}
    return {"": (guide / "SKILL.md").read_text("utf-8"), **found}


@cache
def index_manual_pages() -> ManualIndex:
    """Index the pages with the first search, without the guide's own list of pages."""
    return ManualIndex({name: text for name, text in load_manual_pages().items() if name})


async def show_manual_index(request: ScreenRequest) -> ScreenResult:
    """Show all pages, or what a search for the words of the address finds."""
    question = request.query.get("words", "").strip()[:MAX_QUESTION]
    search = render_filters(request, [("words", "Search the manual")])
    if not question:
        return [search, render_manual_page(load_manual_pages()[""])]
    found = index_manual_pages().search(question)
    if not found:
        return [search, render_blank(f"No page has the words “{question}”.", None, "manual")]
    hits = [
        [
            h.dt[h.a(href=build_link("manual", hit.page))[f"{hit.page}: {hit.heading}"]],
            h.dd[hit.passage],
        ]
        for hit in found
    ]
    return [search, h.dl(class_="prose")[hits]]


async def _show_manual_page(request: ScreenRequest) -> ScreenResult:
    topic = request.path["topic"].removesuffix(".md")
    if not topic or topic not in load_manual_pages():
        return render_blank(
            "This page does not exist.", render_link_button("All pages", "/manual"), "manual"
        )
    text = load_manual_pages()[topic]
    heading = TITLE.search(FRONT_MATTER.sub("", text))
    title = heading[0].strip().removeprefix("# ") if heading else "Manual"
    ways = render_link_button("All pages", "/manual")
    return TitledContent(title, render_manual_page(text), actions=ways)


def render_manual_page(text: str) -> h.Node:
    """Render a page, with links to the others."""
    body = TITLE.sub("", FRONT_MATTER.sub("", text))
    html = OWN_LINK.sub(
        lambda found: f'<a href="{build_link("manual", found[1])}{found[2] or ""}">{found[3]}</a>',
        str(render_markdown(body)),
    )
    return h.article(class_="prose")[Markup(html)]  # noqa: S704 - the program's own text, escaped


SCREENS = (
    PageScreen("/manual", "Manual", None, show_manual_index, "Manual", stamp=stamps.read_nothing),
    PageScreen(
        "/manual/{topic}", "Manual", None, _show_manual_page, "Manual", stamp=stamps.read_nothing
    ),
)
