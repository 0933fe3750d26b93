"""Markdown on a terminal, with the line ends that its author wrote."""

from rich.markdown import Markdown

from orchestrator.cli._output import printable


class MarkdownLines(Markdown):
    """Rendered Markdown whose single line ends stay; controls in the text are made visible.

    Addresses are written out, so that a link shows where it leads.
    """

    def __init__(self, text: str, style: str = "none") -> None:
        super().__init__(printable(text), style=style, hyperlinks=False)
        for block in self.parsed:
            for token in block.children or ():
                if token.type == "softbreak":
                    token.type = "hardbreak"
