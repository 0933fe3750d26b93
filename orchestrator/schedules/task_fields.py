"""The names of a task's fields, as people and models write them."""

ALIASES = {
    "cronExpression": "schedule",
    "cron_expression": "schedule",
    "cron": "schedule",
    "intervalMinutes": "interval_minutes",
}
NESTED = frozenset(  # fields that belong in trigger_config
    {"schedule", "timezone", "interval_minutes", "at", "in_minutes", "in_hours"}
)
TRIGGERS = frozenset({"schedule", "interval_minutes", "at"})
LISTS = frozenset({"required_tools", "keywords"})
NUMBERS = frozenset(
    {"max_steps", "interval_minutes", "notify_interval_minutes"}
    | {"misfire_limit", "misfire_window_minutes"}
)
FLAGS = frozenset({"notify_on_completion", "enabled", "no_tools"})
MISFIRE = ("misfire", "misfire_limit", "misfire_window_minutes")
