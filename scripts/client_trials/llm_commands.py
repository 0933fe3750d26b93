"""The command ``llm``, whose models of OpenAI's format are named in a file."""

import json
import threading

from click.testing import CliRunner
from llm.cli import cli
from trial import AGENT, BASE, HOME, KEY, LOSSY, PDF, PICTURE, TOKEN, holds, report, same

ONE_AT_A_TIME = threading.Lock()
CAN = "supports_schema: true, supports_tools: true, vision: true, api_key_name: agents"
MODELS = f"""\
- {{model_id: {AGENT}, model_name: {AGENT}, api_base: "{BASE}", {CAN}}}
- {{model_id: response, model_name: {AGENT}, api_base: "{BASE}", responses: true, {CAN}}}
- {{model_id: none, model_name: none, api_base: "{BASE}", {CAN}}}
- model_id: lossy
  model_name: {AGENT}
  api_base: "{LOSSY}"
  headers: {{{KEY}: llm}}
  {CAN.replace(", ", chr(10) + "  ")}
"""
WEATHER = "def get_weather(city: str) -> str: return 'sun in ' + city"


def llm(*words: str, code: int = 0) -> str:
    """Return what a command prints; on its error output if it is to fail.

    Raises:
        ValueError: it ends with another code.
    """
    with ONE_AT_A_TIME:  # it prints to what is the standard output of the process
        done = CliRunner(env={"LLM_USER_PATH": str(HOME)}).invoke(cli, words)
    if done.exit_code != code:
        raise ValueError(f"exit code {done.exit_code}: {done.output[-300:]} {done.exception}")
    return (done.stderr if code else done.stdout).strip()


def ask(*words: str, model: str = AGENT, code: int = 0) -> str:
    """Return the answer to a prompt."""
    return llm("prompt", "--no-log", "-m", model, *words, code=code)


def chat() -> None:
    """Ask and be answered, with a system prompt."""
    same(ask("Hello", "-s", "Be brief.", "--no-stream"), "I read: Hello")


def stream() -> None:
    """Read an answer piece by piece, with what it used on the error output."""
    same(ask("Hello stream", "--usage"), "I read: Hello stream")


def tools() -> None:
    """Let it run a function."""
    same(ask("weather?", "--functions", WEATHER), "It is sun in Oslo.")


def form() -> None:
    """Get an answer of a form."""
    same(json.loads(ask("Who is Ada?", "--schema", "name, age int")), {"name": "Ada", "age": 36})


def picture() -> None:
    """Show a picture."""
    holds(ask("What?", "-a", str(PICTURE)), "image/png;base64: a PNG")


def pdf() -> None:
    """Send a PDF."""
    holds(ask("What?", "-a", str(PDF)), "3 euros")


def responses() -> None:
    """Speak the Responses API, with a function."""
    same(ask("Hello response", model="response"), "I read: Hello response")
    same(ask("weather?", "--functions", WEATHER, model="response"), "It is sun in Oslo.")


def errors() -> None:
    """Say what is wrong, and fail."""
    holds(ask("x", "--key", "orc_wrong", code=1), "orchestrator api token")
    holds(ask("x", model="none", code=1), "unknown agent 'none'")
    holds(ask("overlong", code=1), "too long")


def repeat() -> None:
    """Repeat by itself a request whose answer was lost; it was made once."""
    same(ask("count llm", "--no-stream", model="lossy"), "asked 1 times")


(HOME / "extra-openai-models.yaml").write_text(MODELS, "utf-8")
(HOME / "keys.json").write_text(json.dumps({"agents": TOKEN}), "utf-8")
report(
    "llm",
    {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
        "responses": responses,
        "errors": errors,
        "repeat": repeat,
    },
)
