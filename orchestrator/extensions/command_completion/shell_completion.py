"""``orchestrator completion``.

It runs at each press of TAB, so it imports no other command: their names and options are in the
command line's ``words.json``, which scripts/reference writes.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli.commands import HELP_OPTIONS, WORDS, list_commands, make_command_group

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,127}")
DEFINITIONS = (".md", ".yaml", ".yml", ".json")  # endings of prompt definitions

Candidates = Mapping[str, str]  # words to summaries
Node = Mapping[str, Any]  # a command: its help, options, arguments and subcommands

UNKNOWN: Node = {"options": {}, "arguments": []}  # after a word that is not a command

SCRIPTS = {
    "bash": """\
_orchestrator() {
    local IFS=$'\\n'
    COMPREPLY=($(orchestrator completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _orchestrator orchestrator
""",
    "zsh": """\
#compdef orchestrator
_orchestrator() {
    local -a found
    found=("${(@f)$(orchestrator completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then _describe 'orchestrator' found; else _files; fi
}
compdef _orchestrator orchestrator
""",
    "fish": """\
function __orchestrator
    set -l typed (commandline -opc) (commandline -ct)
    set -l found (orchestrator completion fish -- $typed[2..] 2>/dev/null)
    if count $found >/dev/null
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c orchestrator -f -a '(__orchestrator)'
""",
}

PLACES = """\
\b
bash, in ~/.bashrc:                   eval "$(orchestrator completion bash)"
zsh, in ~/.zshrc after compinit:      eval "$(orchestrator completion zsh)"
fish, in ~/.config/fish/config.fish:  orchestrator completion fish | source
"""

app = make_command_group()


@app.command(context_settings={**HELP_OPTIONS, "allow_extra_args": True}, epilog=PLACES)
def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SCRIPTS)}.")],
) -> None:
    """Print a script that completes commands in your shell."""
    if shell not in SCRIPTS:
        raise typer.BadParameter(f"{shell!r} is not one of {', '.join(SCRIPTS)}")
    if not context.args:
        typer.echo(SCRIPTS[shell], nl=False)
        return
    for word, text in list_candidates(context.args, os.environ).items():
        typer.echo(_format_candidate(shell, word, text))


def _format_candidate(shell: str, word: str, text: str) -> str:
    """Return a candidate with its summary, as the shell's script takes it."""
    if shell == "bash" or not text:
        return word
    return f"{word}\t{text}" if shell == "fish" else f"{word}:{text}"


def list_candidates(words: Sequence[str], environ: Mapping[str, str]) -> Candidates:
    """Return the completions of the last of ``words``; none where a file or text belongs."""
    known = json.loads(WORDS.read_text("utf-8"))
    *before, last = words or ("",)
    described = known["commands"]
    known["commands"] = {
        name: described.get(name, {**UNKNOWN, "help": command.summary})
        for name, command in list_commands().items()
    }
    node, place, option = _walk_commands(known, before)
    if option:
        found = _list_values(option, known["values"], before, environ)
    elif last.startswith("-"):
        found = {name: text for name, (_, text) in node["options"].items()}
    elif "commands" in node:
        found = {name: child["help"] for name, child in node["commands"].items()}
    else:
        names = node["arguments"][place : place + 1]
        found = _list_values(names[0], known["values"], before, environ) if names else {}
    return {word: text for word, text in found.items() if word.startswith(last)}


def _walk_commands(node: Node, words: Sequence[str]) -> tuple[Node, int, str]:
    """Return the command, the index of its next argument, and the open option's kind."""
    place, option = 0, ""
    for word in words:
        if option:
            option = ""
        elif word.startswith("-"):
            option = node["options"].get(word, ("",))[0]
        elif word in node.get("commands", ()):
            node, place = node["commands"][word], 0
        else:
            place += 1
            node = node if node["arguments"] else UNKNOWN
    return node, place, option


def _list_values(
    kind: str, fixed: Mapping[str, Sequence[str]], words: Sequence[str], environ: Mapping[str, str]
) -> Candidates:
    """Return the values of an argument or option, by its name in the help."""
    home = Path(
        _find_option("--home", words) or environ.get("ORCHESTRATOR_HOME") or "~/.orchestrator"
    )
    home = Path(os.path.expanduser(home))  # noqa: PTH111 - leaves the path as it is without HOME
    if kind == "AGENT":
        return dict.fromkeys(_list_agents(home, words, environ) or fixed["AGENT"], "agent")
    if kind == "NAME":
        agents = _list_agents(home, words, environ) or fixed["AGENT"]
        prompts = (*fixed["NAME"], *_list_prompts(home / "prompts"))
        return {**dict.fromkeys(sorted(prompts), "prompt"), **dict.fromkeys(agents, "agent")}
    return dict.fromkeys(fixed.get(kind, ()), "")


def _find_option(name: str, words: Sequence[str]) -> str:
    """Return the value of an option among the words."""
    return next((after for word, after in pairwise(words) if word == name), "")


def _list_agents(home: Path, words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the agents of the first readable file; an invalid one is skipped."""
    named = _find_option("--config", words) or environ.get("ORCHESTRATOR_CONFIG", "")
    for path in (Path(named) if named else home / "agents.json", home / "agents.last-good.json"):
        try:
            ids = [agent["agentId"] for agent in json.loads(path.read_bytes())["agents"]]
        except (OSError, ValueError, LookupError, TypeError):
            continue
        return [name for name in ids if isinstance(name, str) and NAME.fullmatch(name)]
    return []


def _list_prompts(folder: Path) -> list[str]:
    """Return the names of the definitions in a folder."""
    try:
        found = [path for path in folder.iterdir() if path.suffix in DEFINITIONS]
    except OSError:
        return []
    return [path.stem for path in found if NAME.fullmatch(path.stem)]
