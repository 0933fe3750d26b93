"""The tool of the almanac."""

from datetime import date
from typing import Annotated

from pydantic import Field

from orchestrator.tools.extension_tool import define_tool
from orchestrator_almanac.moon import find_phase


@define_tool(side_effect="pure", private=False, carries=False, origin="operator")
def moon_phase(day: Annotated[date, Field(description="A day, such as 2030-01-31.")]) -> str:
    """Tell the phase of the moon on a day."""
    return find_phase(day)
