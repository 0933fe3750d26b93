"""Render Markdown on a terminal, keeping the author's line ends."""

from rich.markdown import Markdown

from orchestrator.cli.output import make_printable


class MarkdownLines(Markdown):
    """Rendered Markdown that keeps single line ends; control characters are made visible.

    Addresses are written out, so that a link shows where it leads.
    """

    def __init__(self, text: str, style: str = "none") -> None:
        super().__init__(make_printable(text), style=style, hyperlinks=False)
        for block in self.parsed:
            for token in block.children or ():
                if token.type == "softbreak":
                    token.type = "hardbreak"
