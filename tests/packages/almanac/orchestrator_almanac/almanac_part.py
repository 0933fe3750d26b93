"""What the almanac does in a daemon."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orchestrator.extension import Part, Route, Screen
from orchestrator_almanac.almanac_settings import AlmanacSettings
from orchestrator_almanac.moon import find_phase


class AlmanacPart(Part):
    """Answers ``GET /almanac/DAY``, and shows the moon in `orchestrator status` and on the page."""

    def list_routes(self) -> Iterable[Route]:
        return (Route("/almanac/{day}", self._answer),)

    def list_screens(self) -> Iterable[Screen]:
        return (Screen("moon", "Moon", self._render_week),)

    def list_hints(self) -> Iterable[str]:
        settings = self.daemon.get_agents_file().extensions.get_settings(AlmanacSettings)
        return (f"{settings.greeting}: {find_phase(datetime.now(UTC).date())}",)

    async def _render_week(self, query: Mapping[str, str]) -> str:
        try:
            first = date.fromisoformat(query.get("from", datetime.now(UTC).date().isoformat()))
        except ValueError as error:
            return str(error)
        days = [first + timedelta(days=number) for number in range(7)]
        rows = [f"| {day} | {find_phase(day)} |" for day in days]
        return "\n".join(["| day | moon |", "|---|---|", *rows])

    async def _answer(self, request: Request) -> Response:
        try:
            day = date.fromisoformat(request.path_params["day"])
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        return JSONResponse({"day": day.isoformat(), "phase": find_phase(day)})
