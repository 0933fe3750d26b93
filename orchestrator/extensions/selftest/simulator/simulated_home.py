"""The operator's files in a simulated daemon's home: agents.json, prompts, edits."""

import json

from orchestrator.extensions.selftest.crash.scenario import (
    build_agents_file,
    build_prompts,
)
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan
from orchestrator.extensions.selftest.simulator.simulated_world import SimulatedWorld
from orchestrator.home_paths import Paths
from thinker.protocol.messages import JsonObject

REVISION = 0.01  # added to the temperature of every agent with each valid edit


class SimulatedHome:
    """The files of the home of ``course``; each edit of agents.json is reported to ``world``."""

    def __init__(self, course: HistoryPlan, paths: Paths, world: SimulatedWorld) -> None:
        self._course = course
        self._paths = paths
        self._world = world
        self._revision = 0
        self._file = paths.home / "agents.json"

    def write_files(self) -> None:
        """Write everything for the first time."""
        self._paths.create_directories()
        for name, prompt in build_prompts(self._course.scripts).items():
            self._paths.prompts.mkdir(exist_ok=True)
            (self._paths.prompts / f"{name}.json").write_text(json.dumps(prompt), "utf-8")
        self._write_agents_file()

    def edit_file(self, how: str) -> None:
        """Edit agents.json, validly or so that it cannot be read.

        The file is left alone before the first start, when there is no copy to fall back on.
        """
        if not self._paths.last_good.exists():
            return
        if how == "better":
            self._revision += 1
            self._write_agents_file()
            self._world.note_revision(self._revision)
        else:
            self._file.write_text('{"agents": [', "utf-8")
            self._world.note_broken_file()

    def _write_agents_file(self) -> None:
        fields: JsonObject = {
            "temperature": self._revision * REVISION,
            "whileBusy": self._course.while_busy,
        }
        scenario, home = self._course.build_scenario(), self._paths.home
        found = build_agents_file(scenario, "http://model", home, fields=fields)
        self._file.write_text(json.dumps(found), "utf-8")
