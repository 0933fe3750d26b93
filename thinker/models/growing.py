"""A text that comes piece by piece."""


class TextBuffer:
    """Adding a piece costs as much as the piece is long, whatever came before."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str | None) -> None:
        """More of the text."""
        if piece:
            self._pieces.append(piece)

    @property
    def text(self) -> str:
        """All of it."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""
