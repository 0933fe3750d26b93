"""Notice that a streaming answer only repeats itself, as small models do."""

MIN_SIZE = 1500  # characters of repetition; tables and drawings have less of one line
MIN_TIMES = 12
MAX_PERIOD = 400  # characters of the repeated part
SAMPLE = 24  # characters at the end, whose earlier occurrences give the period
MAX_CANDIDATES = 6  # of these; a repeated part may itself contain the sample
STEP = 256  # characters between two looks


class RepetitionWatch:
    """Looks at the end of a growing text now and then, so that the cost grows with the text."""

    def __init__(self) -> None:
        self._seen = 0

    def find_repetition(self, text: str) -> int | None:
        """Return where a repetition that reaches the end begins for the second time, or None.

        Blanks do not count as a repeated part.
        """
        size = len(text)
        if size - self._seen < STEP:
            return None
        self._seen = size
        last = size - SAMPLE
        sample, found = text[last:], last
        if not sample.strip():
            return None
        for _ in range(MAX_CANDIDATES):
            found = text.rfind(sample, max(0, last - MAX_PERIOD), found + SAMPLE - 1)
            if found < 0:
                return None
            if (begin := _find_begin(text, last - found)) is not None:
                return begin
        return None


def _find_begin(text: str, period: int) -> int | None:
    """Return where the second of many equal parts begins that reach the end; None without them."""
    length = max(MIN_SIZE, MIN_TIMES * period)
    if length > len(text) or text[-length + period :] != text[-length:-period]:
        return None
    begin = len(text) - length
    while begin and text[begin - 1] == text[begin - 1 + period]:
        begin -= 1
    return begin + period
