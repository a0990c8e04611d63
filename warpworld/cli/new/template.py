"""Writing a new environment: the template's files under a name of the user's own."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import keyword
import os
import re
import shutil
from pathlib import Path

from warpworld.errors import TemplateError
from warpworld.packaged import packaged_configs, packaged_names

TEMPLATE = Path(__file__).parent / "environment"
CPP_TEMPLATE = Path(__file__).parent / "cpp_environment"  # whose envs have objects of a C++ class
MODULE, CLASS = "template_world", "TemplateWorld"  # the template's own names: words that stand for nothing else

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def write_environment(name: str, into: str | Path = ".", template: Path = TEMPLATE) -> Path:
    """Write an environment that works into a new folder; it appears whole or not at all.

    Args:
        name: of the environment, such as ``walk_home`` or ``WalkHome``: the folder, the module and the kernel file get
            the first form, the class gets the second.
        into: the folder in which the new one is made.
        template: TEMPLATE or CPP_TEMPLATE.

    Returns:
        The folder. It holds a module, a kernel file and a config of the folder's name, a test of the module, and
        AGENTS.md for coding assistants; with CPP_TEMPLATE also a header with the class.

    Raises:
        TemplateError: the name will not do, something of that name is there already, or nothing can be written.
    """
    # names that are free
    module, class_name = _snake_case(name), _camel_case(name)
    _check_name(name, module, class_name, template)
    into = Path(into)
    folder = into / module
    if not into.is_dir():
        raise TemplateError(f"'{into}' is not a folder, expected one in which '{module}' can be made: mkdir -p {into}")
    if os.path.lexists(folder):
        raise TemplateError(
            f"'{folder}' exists already, and nothing is overwritten: choose another name or folder (--into)"
        )
    _check_shadows(name, module)
    # the folder, under another name until all is in it
    unfinished = into / f".{module}.{os.getpid()}.tmp"
    try:
        unfinished.mkdir()
        try:
            for source in template_files(template):
                text = renamed(source.read_text(encoding="utf-8"), module, class_name)
                (unfinished / source.name.replace(MODULE, module)).write_text(text, encoding="utf-8")
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise TemplateError(f"'{folder}' cannot be written: {error.strerror or error}") from error
    return folder


def template_files(template: Path = TEMPLATE) -> list[Path]:
    """The files of a template, sorted."""
    return sorted(path for path in template.iterdir() if path.is_file())


def renamed(text: str, module: str, class_name: str) -> str:
    """The text of a template's file with the new names, put in at once, so that none replaces the other."""
    names = {MODULE: module, CLASS: class_name}
    return re.sub("|".join(names), lambda found: names[found[0]], text)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _check_name(name: str, module: str, class_name: str, template: Path) -> None:
    """Refuse what cannot be the name of a module and of a class beside the template's own words."""
    if not _NAME.match(name):
        raise TemplateError(
            f"'{name}' cannot name an environment: expected letters, digits and underscores, a letter first, "
            "such as walk_home"
        )
    if keyword.iskeyword(module) or keyword.iskeyword(class_name):
        raise TemplateError(f"'{name}' is a keyword of Python: choose another name")
    if module in {"warpworld", *packaged_names(), *packaged_configs()}:
        raise TemplateError(f"'{name}' comes with warpworld: choose another name")
    if class_name in _template_words(template) or hasattr(builtins, class_name):
        raise TemplateError(
            f"'{name}' would make a class {class_name}, a name that its files need already: choose another name"
        )
    if module == "conftest":
        raise TemplateError(f"'{name}' is a name that pytest gives a meaning: choose another name")


def _template_words(template: Path) -> set[str]:
    """The names that a template's Python files import, define or use, but for that of its class."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in template_files(template) if path.suffix == ".py"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    words = {node.id for node in nodes if isinstance(node, ast.Name)}
    words |= {node.name for node in nodes if isinstance(node, (ast.alias, ast.ClassDef, ast.FunctionDef))}
    return words - {CLASS}


def _check_shadows(name: str, module: str) -> None:
    """Refuse the name of a module that Python finds: one of the two would be imported instead of the other."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin is not None:  # a folder without __init__.py has none, and hides nothing
        where = "is built into Python" if spec.origin in ("built-in", "frozen") else f"is '{spec.origin}'"
        raise TemplateError(f"'{name}' would hide the module '{module}', which {where}: choose another name")
