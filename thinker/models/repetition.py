"""Notice that a streaming answer only repeats itself, as small models do."""

MIN_SIZE = 700  # characters of repetition; tables and drawings have less of one line
MIN_TIMES = 8
MAX_PERIOD = 400  # characters of the repeated part
SAMPLE = 24  # characters at the end, whose last occurrence gives the period
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
        found = text.rfind(text[last:], max(0, last - MAX_PERIOD), size - 1)
        if found < 0 or not text[last:].strip():
            return None
        period = last - found
        length = max(MIN_SIZE, MIN_TIMES * period)
        if length > size or text[-length + period :] != text[-length:-period]:
            return None
        begin = size - length
        while begin and text[begin - 1] == text[begin - 1 + period]:
            begin -= 1
        return begin + period
