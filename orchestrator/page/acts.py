"""What the forms of the page can ask for: each method with the fields that it takes."""

from base64 import b64encode
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ValidationError

from orchestrator.control import page_protocol, protocol
from orchestrator.errors import OrchestratorError


class ShownDecision(protocol.ApprovalDecision):
    """A decision about exactly the arguments that were shown."""

    args_hash: str


FIELDS: Mapping[str, type[BaseModel] | None] = {
    page_protocol.WEB_SEND: page_protocol.WebSend,
    protocol.APPROVAL_DECIDE: ShownDecision,
    protocol.PAIR_APPROVE: protocol.PairCode,
    protocol.PAIR_REVOKE: protocol.PairedChat,
    protocol.TOOL_APPROVE: protocol.ToolName,
    protocol.CALL_SETTLE: protocol.SettledCall,
    protocol.DLQ_RETRY: protocol.RowId,
    protocol.DLQ_DROP: protocol.RowId,
    protocol.AGENT_PAUSE: protocol.AgentName,
    protocol.AGENT_RESUME: protocol.AgentName,
    protocol.RELOAD: None,
    protocol.TASK_RUN: protocol.RowId,
    protocol.TASK_ENABLE: protocol.RowId,
    protocol.TASK_DISABLE: protocol.RowId,
}


class BadFormError(OrchestratorError):
    """A form without what its method needs, or for no method."""


def params(
    method: str, form: Mapping[str, str], files: Iterable[tuple[str, bytes]] = ()
) -> BaseModel | None:
    """Return the parameters of a method from a form; other fields of it are left out.

    ``files`` are those of the form, each with its name.

    Raises:
        BadFormError: there is no such form, or a field is missing or wrong.
    """
    if method not in FIELDS:
        raise BadFormError(f"this page has no form for {method!r}; reload it")
    model = FIELDS[method]
    try:
        sent = [{"name": name, "data": b64encode(data)} for name, data in files]
        return None if model is None else model.model_validate({**form, "files": sent})
    except ValidationError as error:
        fields = ", ".join(str(detail["loc"][0]) for detail in error.errors() if detail["loc"])
        raise BadFormError(f"the form has no right value for {fields}; reload the page") from error
