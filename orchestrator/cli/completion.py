"""``orchestrator completion``."""

import os
from typing import Annotated

import typer

from orchestrator.cli import HELP_OPTIONS
from orchestrator.cli._group import command_group
from orchestrator.cli._words import candidates

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

app = command_group()


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
    for word, text in candidates(context.args, os.environ).items():
        typer.echo(_line(shell, word, text))


def _line(shell: str, word: str, text: str) -> str:
    """Return a candidate with its summary, as the shell's script takes it."""
    if shell == "bash" or not text:
        return word
    return f"{word}\t{text}" if shell == "fish" else f"{word}:{text}"
