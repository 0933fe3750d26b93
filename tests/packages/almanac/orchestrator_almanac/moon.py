"""How much of the moon is lit."""

from datetime import date

MONTH = 29.530588853  # days from one new moon to the next
NEW_MOON = date(2000, 1, 6)
PHASES = (
    "new moon",
    "waxing crescent",
    "first quarter",
    "waxing gibbous",
    "full moon",
    "waning gibbous",
    "last quarter",
    "waning crescent",
)


def find_phase(day: date) -> str:
    """Return the phase on a day."""
    age = (day - NEW_MOON).days % MONTH
    return PHASES[round(age / MONTH * len(PHASES)) % len(PHASES)]
