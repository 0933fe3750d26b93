"""Agents in a Python program: the daemon's loop, models and prompts without the daemon.

Define agents and their tools, join them in a `RuntimeSpec`, and run it in the program's own
process::

    spec = define_runtime(agents=[coordinator, planner, executor])
    async with create_runtime(spec, approve=ask_a_person) as runtime:
        answer = await runtime.query("Branch Q3 pricing into a promotion.", tenant="acme")

A specification is data. No model is called and no key is read before `create_runtime`. A runtime
has no journal: what must survive the process belongs in the ``memory`` that the program passes, or
into the daemon.
"""

from orchestrator.extensions.runtime.agent_runtime import AgentAnswer, Runtime, create_runtime
from orchestrator.extensions.runtime.agent_specs import (
    AgentSpec,
    ModelSpec,
    define_coordinator,
    define_executor,
    define_planner,
    define_specialist,
)
from orchestrator.extensions.runtime.defined_tools import (
    DefinedTool,
    RunContext,
    Toolkit,
    ToolkitSpec,
    define_tool,
    define_toolkit,
)
from orchestrator.extensions.runtime.plan_approval import (
    ApprovalRequest,
    ProposedPlan,
    RuntimeEvent,
)
from orchestrator.extensions.runtime.runtime_errors import (
    AgentRunError,
    PlanNotApprovedError,
    RuntimeSpecError,
)
from orchestrator.extensions.runtime.runtime_spec import RuntimeSpec, define_runtime
from thinker.prompt.render.layered import LayeredPrompt, layered_prompt

__all__ = [
    "AgentAnswer",
    "AgentRunError",
    "AgentSpec",
    "ApprovalRequest",
    "DefinedTool",
    "LayeredPrompt",
    "ModelSpec",
    "PlanNotApprovedError",
    "ProposedPlan",
    "RunContext",
    "Runtime",
    "RuntimeEvent",
    "RuntimeSpec",
    "RuntimeSpecError",
    "Toolkit",
    "ToolkitSpec",
    "create_runtime",
    "define_coordinator",
    "define_executor",
    "define_planner",
    "define_runtime",
    "define_specialist",
    "define_tool",
    "define_toolkit",
    "layered_prompt",
]
