"""The text of a ``.cu`` file as a parser needs it: comments and directives blanked, brackets matched, places known."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.errors import BindError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_TEXTUAL = re.compile(  # comments, raw strings, strings, characters (but not the ' in 1'000)
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_BRACKETS = re.compile(r"[()\[\]{};]")
# Of compilers, not of C++: the parser knows some of them in some places. None of them changes a type.
_EXTENSIONS = re.compile(r"\b(?:__restrict(?:__)?|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\))")
_SPELLINGS = re.compile(r"\b__(const|volatile|signed)(?:__)?\b")


# The texts of a process's kernel files, which each world reads again: what is found in one is kept by its contents.
TEXTS = 512


@functools.lru_cache(TEXTS)
def without_comments(source: str) -> str:
    """C++ text without its comments, strings and characters."""
    return _TEXTUAL.sub(" ", source)


def blanked(text: str) -> str:
    """Spaces for every character but ends of lines."""
    return re.sub(r"[^\n]", " ", text)


def in_plain_cpp(text: str) -> str:
    """The text without compilers' extensions of C++, as long as it is: spaces stand where they stood."""
    plain = _EXTENSIONS.sub(lambda match: blanked(match.group()), text)
    return _SPELLINGS.sub(lambda match: match[1].ljust(len(match[0])), plain)


class SourceText:
    """Text of one kernel file; every error names file and line.

    Attributes:
        path: the file.
        source: its contents.
        code: the contents with comments, strings and directives blanked, as long as ``source``.
        directives: start and end of every directive.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        without_text = _TEXTUAL.sub(lambda match: blanked(match.group()), source)
        self.directives = [match.span() for match in _DIRECTIVE.finditer(without_text)]
        self.code = _DIRECTIVE.sub(lambda match: blanked(match.group()), without_text)

    def line(self, position: int) -> int:
        """The line of a character, from 1."""
        return self.source.count("\n", 0, position) + 1

    def refuse(self, position: int, reason: str) -> BindError:
        """The error that says ``reason`` of a place."""
        return BindError(f"{self.path}:{self.line(position)}: {reason}")

    def header_end(self, position: int) -> int:
        """Position of the ``{`` of a definition or the ``;`` of a declaration."""
        depth = 0
        for match in _BRACKETS.finditer(self.code, position):
            bracket = match.group()
            if bracket in "([":
                depth += 1
            elif bracket in ")]":
                depth -= 1
            elif depth <= 0 or bracket == ";":
                return match.start()
        return len(self.code)

    def body_end(self, position: int) -> int:
        """Position of the ``}`` that closes the ``{`` at ``position``; the file's end if it is missing."""
        depth = 0
        for match in re.compile(r"[{}]").finditer(self.code, position):
            depth += 1 if match.group() == "{" else -1
            if depth <= 0:
                return match.start()
        return len(self.code)


@functools.lru_cache(TEXTS)
def source_text(path: Path, source: str) -> SourceText:
    """A file's text, prepared once as long as its contents are the same."""
    return SourceText(path, source)


# ---- tree-sitter ----------------------------------------------------------------------------------------------------
@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def parse(text: str) -> Node:
    """The root of the syntax tree of some CUDA C++."""
    return _parser().parse(text.encode()).root_node


def walk(root: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.children))


def text_of(node: Node) -> str:
    """Text of a node."""
    return (node.text or b"").decode(errors="replace")


class Excerpt:
    """A part of a file that is parsed by itself: macros elsewhere make a parser lose what is around them.

    Args:
        file: the file.
        start: where the part begins in it.
        text: what is parsed, as long as the part where places in it are asked for.
    """

    def __init__(self, file: SourceText, start: int, text: str) -> None:
        plain = in_plain_cpp(text)
        self.file, self._start, self._text = file, start, plain.encode()
        self.root = parse(plain)

    def position(self, node: Node) -> int:
        """Start of a node, in the file."""
        return self._start + len(self._text[: node.start_byte].decode(errors="replace"))

    def line(self, node: Node) -> int:
        """The line on which a node starts, in the file."""
        return self.file.line(self.position(node))
