"""Turn a page into readable text: ``python -P -m orchestrator.extensions.workspace.page_text``.

Reads HTML on standard input and writes Markdown. The parser meets what strangers wrote, so it runs
in the jail of commands: without files, without network, and for a limited time.
"""

import sys

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

MAX_TEXT = 2_000_000  # characters


def extract_readable_text(html: str) -> str:
    """Return the text of a page as Markdown, without navigation, scripts and forms."""
    cleaning = PreprocessingOptions(
        enabled=True, preset="aggressive", remove_navigation=True, remove_forms=True
    )
    options = ConversionOptions(
        preprocessing=cleaning, extract_metadata=False, skip_images=True, heading_style="atx"
    )
    return str(convert(html, options).content or "")[:MAX_TEXT]


def find_title(html: str) -> str:
    """Return the title of a page, or an empty string."""
    head = html[:100_000]
    start = head.lower().find("<title")
    begin = head.find(">", start) + 1
    end = head.lower().find("</title", begin)
    return " ".join(head[begin:end].split())[:300] if -1 < start < begin < end else ""


if __name__ == "__main__":
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    text = extract_readable_text(source)
    sys.stdout.buffer.write(f"{find_title(source)}\n{text}".encode("utf-8", "replace"))
