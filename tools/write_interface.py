"""Writes ``docs/interface.txt``: all public names, in one list that a test holds the code to.

It has names of Python with their signatures, keys of configurations with their defaults, commands with their options,
words of the kernel headers, and files of a run folder. `python -m tools.write_interface` writes it anew; the difference
is what a change means for users.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import warpworld
from warpworld.cli.main import _parser, main
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import ModelConfig, SavingConfig, TrainerConfig
from warpworld.managers import INCLUDE_FOLDER
from warpworld.packaged import ALGORITHMS
from warpworld.trainers.algorithms import get_algorithm

FILE = Path(__file__).resolve().parents[1] / "docs" / "interface.txt"
HEAD = """\
Public names of warpworld, written by `python -m tools.write_interface`. docs/versions.md says what may change when.
"""
_FUNCTION = re.compile(r"^(?:template <[^>]*>\s*)?WW_FUNCTION (?:inline )?(.+?)\s*\{?\s*$", re.MULTILINE)
_NAME = re.compile(r"(\w+)\(")
_TYPE = re.compile(r"^(?:struct|enum|enum class) (\w+)", re.MULTILINE)
_NAMED = re.compile(r"\b((?:[a-z]\w*|Random::\w+)(?=\()|[A-Z][A-Z_]+_[A-Z_]+\w)")
_NO_WORDS = {"alignas", "make_float2"}  # of C++ and of CUDA
_MACRO = re.compile(r"^#define ([A-Z]\w+)", re.MULTILINE)


def python_names() -> Iterator[str]:
    """Lines of what ``import warpworld`` offers: functions, classes and their public members."""
    for name in sorted(each for each in dir(warpworld) if not each.startswith("_")):
        found = getattr(warpworld, name)
        if inspect.isclass(found):
            yield f"class {name}{_signature(found)}"
            yield from (f"  {line}" for line in _members(found))
        elif callable(found):
            yield f"{name}{_signature(found)}"


def _members(cls: type) -> Iterator[str]:
    own = [base for base in cls.__mro__ if base.__module__.startswith("warpworld")]
    names = {name for base in own for name in vars(base) if not name.startswith("_")}
    for name in sorted(names):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        yield f"{name}{_signature(member)}" if inspect.isfunction(member) else name


def _signature(found: Any) -> str:
    try:
        return re.sub(r"<function \S+ at 0x\w+>", "a function", str(inspect.signature(found)))
    except (TypeError, ValueError):
        return "(...)"


def keys() -> Iterator[str]:
    """Lines of the keys of a configuration; of a policy's section for each algorithm."""
    yield from sorted(RunConfig.model_fields)
    sections: dict[str, type[BaseModel]] = {"trainer": TrainerConfig, "saving": SavingConfig}
    sections["policy.NAME.model"] = ModelConfig
    sections |= {f"policy.NAME ({name})": get_algorithm(name).Settings for name in sorted(ALGORITHMS)}
    for name, section in sections.items():
        yield f"{name}:"
        yield from (f"  {key} = {_default(field)}" for key, field in sorted(section.model_fields.items()))


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "section" if isinstance(value, BaseModel) else repr(value)


def commands() -> Iterator[str]:
    """Lines of the commands with their options."""
    for name, parser in sorted(_parser()[1].items()):
        options = sorted({option for action in parser._actions for option in action.option_strings} - {"-h", "--help"})
        yield " ".join([f"warpworld {name}", *options])


def kernel_words() -> Iterator[str]:
    """Lines of the functions, types and macros of each header that a page names."""
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(FILE.parent.glob("*.md")))
    headers = [path for path in sorted(INCLUDE_FOLDER.glob("*.cuh")) if re.search(rf"\b{path.name}", pages)]
    for path in headers:
        text = path.read_text(encoding="utf-8")
        found = {match[1] for line in _FUNCTION.findall(text) if (match := _NAME.search(line))}
        found |= set(_TYPE.findall(text)) | set(_MACRO.findall(text))
        if path.name == "warpworld.cuh":  # its first lines name what each backend has its own of
            found |= set(_NAMED.findall(text.partition("#pragma")[0]))
        words = sorted(word for word in found - _NO_WORDS if not word.lower().startswith("ww_"))
        if words:
            yield f"{path.name}: {' '.join(words)}"


def run_files() -> Iterator[str]:
    """Lines of the files of a run folder, with N for numbers."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        small = ["trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=64", "trainer.device=cpu"]
        main(["train", "chain", "--run", f"{folder}/run", *small])
        paths = {path.relative_to(f"{folder}/run").as_posix() for path in Path(folder).rglob("*") if path.is_file()}
    yield from sorted({re.sub(r"\d+", "N", re.sub(r"(tfevents).*", r"\1*", path)) for path in paths})


def interface() -> str:
    """The whole list."""
    parts = {
        "Python": python_names(),
        "Keys of a configuration": keys(),
        "Commands": commands(),
        "Kernel headers": kernel_words(),
        "Files of a run": run_files(),
    }
    return "\n".join([HEAD, *(f"== {title}\n" + "\n".join(lines) + "\n" for title, lines in parts.items())])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    FILE.write_text(interface(), encoding="utf-8")
