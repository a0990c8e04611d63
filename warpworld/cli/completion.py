"""`warpworld completion SHELL`: a script that completes commands, options, configs, environments and folders."""

from __future__ import annotations

import argparse
from typing import Any

from warpworld.packaged import packaged_configs, packaged_names, pretrained_runs

SHELLS = ("bash", "zsh", "fish")
_DESCRIPTION = """Print a script that completes warpworld's commands, options, configs, environments and folders.

  bash: echo 'eval "$(warpworld completion bash)"' >> ~/.bashrc
  zsh:  echo 'eval "$(warpworld completion zsh)"' >> ~/.zshrc     (behind compinit)
  fish: warpworld completion fish > ~/.config/fish/completions/warpworld.fish"""

# What a word stands for, by the metavar that argparse shows; files by default.
_FOLDERS = ("RUN", "DIR", "FOLDER", "FOLDER key=value")
_CONFIGS = {"train": "words", "params": "name", "watch": "run"}  # the argument that may be a config
_ENVIRONMENTS = {"check": "environment", "run": "environment"}


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    completion = commands.add_parser(
        "completion",
        help="a script that completes words in bash, zsh or fish",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(command=lambda arguments: _completion(arguments, commands.choices))


def _completion(arguments: argparse.Namespace, commands: dict[str, argparse.ArgumentParser]) -> int:
    import shtab

    for name, command in commands.items():
        for action in command._actions:
            if action.dest == _CONFIGS.get(name):
                kind = _words_and_files("configs", list(packaged_configs()), "yaml", arguments.shell)
            elif action.dest == _ENVIRONMENTS.get(name):
                kind = _words_and_files("environments", packaged_names(), "py", arguments.shell)
            elif action.dest == "pretrained":
                kind = _words("pretrained", list(pretrained_runs()), arguments.shell)
            elif action.metavar in _FOLDERS:
                kind = shtab.DIRECTORY
            elif action.metavar == "FILE":
                kind = shtab.FILE
            else:
                continue
            action.complete = kind  # type: ignore[attr-defined]
    print(shtab.complete(arguments.parser, arguments.shell))
    return 0


def _words(kind: str, words: list[str], shell: str) -> dict[str, Any]:
    """Entry for shtab of an argument that is one of some words, and may be another one."""
    function, every = f"_warpworld_{kind}", " ".join(words)
    body = {
        "bash": f"""
{function}() {{
  compgen -W "{every}" -- "$1"
}}
""",
        "zsh": f"""
{function}() {{
  compadd -- {every}
}}
""",
        "fish": f"""
function {function}
  printf '%s\\n' {every}
end
""",
    }
    return {"bash": function, "zsh": function, "fish": f"({function})", "preamble": {shell: body[shell]}}


def _words_and_files(kind: str, words: list[str], suffix: str, shell: str) -> dict[str, Any]:
    """Entry for shtab of an argument that is one of some words, a file of a suffix, or a folder."""
    function = f"_warpworld_{kind}"
    body = {
        "bash": f"""
{function}() {{
  compgen -W "{" ".join(words)}" -- "$1"
  compgen -f -X "!*.{suffix}" -- "$1"
  compgen -d -S / -- "$1"
}}
""",
        "zsh": f"""
{function}() {{
  compadd -- {" ".join(words)}
  _files -g "*.{suffix}"
}}
""",
        "fish": f"""
function {function}
  printf '%s\\n' {" ".join(words)}
  __fish_complete_suffix .{suffix}
end
""",
    }
    return {"bash": function, "zsh": function, "fish": f"({function})", "preamble": {shell: body[shell]}}
