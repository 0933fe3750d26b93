"""Plans and their approval, and the events that a program gets while its agents work."""

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json

from orchestrator.extensions.runtime.runtime_errors import PlanNotApprovedError, RuntimeSpecError

ID_LENGTH = 16  # hexadecimal digits of a plan's hash
EventKind: TypeAlias = Literal["plan_proposed", "approval_required", "tool_result", "text"]


@dataclass(frozen=True)
class RuntimeEvent:
    """Something that happened: a plan was proposed, an approval is asked for, a tool returned.

    ``name`` is the id of the plan or the name of the tool; ``value`` the plan, the arguments or the
    result. A ``text`` event holds an agent's whole answer so far.
    """

    kind: EventKind
    agent: str
    tenant: str
    name: str
    value: JsonValue


@dataclass(frozen=True)
class ApprovalRequest:
    """A question to a person: may this tool call, or this plan, be carried out?"""

    kind: Literal["tool", "plan"]
    agent: str
    tenant: str
    name: str
    value: JsonValue


@dataclass(frozen=True)
class ProposedPlan:
    """A plan of a planner. ``id`` is a hash of the content, so an approval is for just that."""

    id: str
    planner: str
    tenant: str
    value: BaseModel

    @property
    def json(self) -> JsonValue:
        """The plan as JSON."""
        found: JsonValue = self.value.model_dump(mode="json", by_alias=True)
        return found


Approve: TypeAlias = Callable[[ApprovalRequest], Awaitable[bool] | bool]
OnEvent: TypeAlias = Callable[[RuntimeEvent], None]


@dataclass
class Approvals:
    """The plans of each tenant, their approvals, and the person who is asked.

    The approval of a plan is valid for one execution.
    """

    approve: Approve | None
    on_event: OnEvent | None
    _plans: dict[tuple[str, str], ProposedPlan] = field(default_factory=dict, init=False)
    _approved: set[tuple[str, str]] = field(default_factory=set, init=False)

    def propose(self, planner: str, tenant: str, value: BaseModel) -> ProposedPlan:
        """Keep a plan and send the program an event."""
        content = to_json([planner, value.model_dump(mode="json", by_alias=True)])
        plan_id = hashlib.sha256(content).hexdigest()[:ID_LENGTH]
        plan = ProposedPlan(plan_id, planner, tenant, value)
        self._plans[tenant, plan_id] = plan
        self.tell(RuntimeEvent("plan_proposed", planner, tenant, plan_id, plan.json))
        return plan

    def tell(self, event: RuntimeEvent) -> None:
        """Pass an event to the program."""
        if self.on_event is not None:
            self.on_event(event)

    def plan(self, tenant: str, plan_id: str) -> ProposedPlan:
        """Return a tenant's plan.

        Raises:
            RuntimeSpecError: the tenant has no such plan.
        """
        found = self._plans.get((tenant, plan_id))
        if found is None:
            raise RuntimeSpecError(
                f"the tenant {tenant!r} has no plan {plan_id!r}; have a planner make one first"
            )
        return found

    def grant(self, tenant: str, plan_id: str) -> None:
        """Approve a plan for its next execution; raises as `plan`."""
        self._approved.add((tenant, self.plan(tenant, plan_id).id))

    async def take(self, executor: str, plan: ProposedPlan) -> None:
        """Use up the approval of a plan; ask for one first if there is none.

        Raises:
            PlanNotApprovedError: the approval was refused, or there is no one to ask.
        """
        key = plan.tenant, plan.id
        if key not in self._approved:
            request = ApprovalRequest("plan", executor, plan.tenant, plan.id, plan.json)
            if not await self.ask(request):
                raise PlanNotApprovedError(plan.id)
        self._approved.discard(key)

    async def ask(self, request: ApprovalRequest) -> bool:
        """Return whether a person approves; False without anyone to ask."""
        given = request.agent, request.tenant, request.name, request.value
        self.tell(RuntimeEvent("approval_required", *given))
        if self.approve is None:
            return False
        answer = self.approve(request)
        return (await answer if inspect.isawaitable(answer) else answer) is True
