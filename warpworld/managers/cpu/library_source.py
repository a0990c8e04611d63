"""A shared library for the host with all that it is made from, as the wheel, the build cache or a compiler has it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers import cached, content_key, first_error
from warpworld.managers.cpu.cpuinfo import processor
from warpworld.managers.cpu.host_compiler import NATIVE_FLAGS, HostCompiler, debugging, find_compiler
from warpworld.managers.cpu.shipped import PACKAGE, RECORDED, Level, shipped

_recorders: list[list[LibrarySource]] = []


def _no_flags(compiler: HostCompiler) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class LibrarySource:
    """C++ text to compile into a shared library.

    Attributes:
        kind: a word for what it is.
        text: the source.
        flags: besides those that everything is compiled with.
        folders: where included files are looked for.
        contents: of all files that it includes.
        subject: name of what is built, for messages.
        refuse: the error for what the compiler printed.
        users_flags: the user's, behind all others.
        flags_of_compiler: more flags, which depend on the compiler.
        apart: text that tells libraries apart which are made from the same: each is a file of its own, so that the
            loader does not take them for one.
        objects: libraries' sources whose object files are linked into it.
        wrapped, keep_relocations, link_flags: as of ``HostCompiler.build_library``.
    """

    kind: str
    text: str
    flags: tuple[str, ...]
    folders: tuple[Path, ...]
    contents: tuple[bytes, ...]
    subject: str
    refuse: Callable[[str, HostCompiler], Exception]
    users_flags: tuple[str, ...] = ()
    flags_of_compiler: Callable[[HostCompiler], tuple[str, ...]] = _no_flags
    apart: tuple[str, ...] = ()
    objects: tuple[LibrarySource, ...] = ()
    wrapped: tuple[str, ...] = ()
    keep_relocations: bool = False
    link_flags: tuple[str, ...] = ()

    @property
    def is_native(self) -> bool:
        """Whether it is compiled for one processor."""
        return any(flag in NATIVE_FLAGS for flag in self.flags)

    def portable_key(self) -> str:
        """A hash of what it is made from, the same wherever the package lies and whichever compiler is there."""
        text = self.text.replace(str(PACKAGE), RECORDED)
        flags = [flag for flag in self.flags if flag not in NATIVE_FLAGS]
        return content_key([self.kind, text, *flags, *self.wrapped, *self.contents])

    def library(self) -> Path:
        """The shared library.

        Raises:
            BuildError: there is no compiler, the source does not compile, or the cache cannot be written.
        """
        for recorded in _recorders:
            recorded.append(self)
        ready = None if self.users_flags or self.link_flags or debugging() else self._shipped()
        return ready if ready is not None else self._built()

    def build_for(self, level: Level, target: Path, scratch: Path, command: str = "") -> None:
        """Compile the library for processors of a level; lines name the package's folder as ``RECORDED``.

        Args:
            level: of the processors.
            target: the library that is to be written.
            scratch: folder for temporary files.
            command: of a compiler for another machine; empty for the one that is found.

        Raises:
            BuildError: it does not compile.
        """
        compiler = HostCompiler((command,), command) if command else find_compiler()
        places = {scratch: "/build", Path.cwd(): "/build", PACKAGE: RECORDED}  # the last one that fits counts
        maps = [f"-ffile-prefix-map={place}={name}" for place, name in places.items()]
        # equal code makes equal files, whatever the level; lines alone, and none of networks, which no message names
        maps += ["-gno-record-gcc-switches", "-g0" if self.kind == "library" else "-g1"]
        objects = [scratch / f"{i}.o" for i in range(len(self.objects))]
        for each, path in zip(self.objects, objects, strict=True):
            each._compile(compiler, scratch, path, (*each._flags_at(level, compiler), *maps))
        self._link(compiler, scratch, target, (*self._flags_at(level, compiler), *maps), objects)
        # in the file itself, since compilers map no name that they write for a sanitizer
        package = str(PACKAGE).encode()
        target.write_bytes(target.read_bytes().replace(package, RECORDED.encode().ljust(len(package), b"/")))

    def _shipped(self) -> Path | None:
        """The wheel's library, copied into the build cache."""
        key = self.portable_key()
        found = shipped(key, self.is_native)
        if found is None:
            return None
        name = content_key(["shipped", found.parent.name, key, str(PACKAGE), *self.apart])

        def copy(scratch: Path, target: Path) -> None:
            shutil.copyfile(found, target)

        return cached(name, ".so", copy, self.subject)

    def _built(self) -> Path:
        """The library as this machine's compiler makes it."""
        objects = [each._object_file() for each in self.objects]
        compiler, key = self._key([path.name for path in objects])
        flags = self._flags(compiler)
        return cached(key, ".so", lambda scratch, to: self._link(compiler, scratch, to, flags, objects), self.subject)

    def _object_file(self) -> Path:
        compiler, key = self._key([])
        flags = self._flags(compiler)
        return cached(key, ".o", lambda scratch, to: self._compile(compiler, scratch, to, flags), self.subject)

    def _key(self, objects: Sequence[str]) -> tuple[HostCompiler, str]:
        """The compiler, and a hash of all that the result depends on."""
        compiler = find_compiler()
        words = [compiler.version, *compiler.all_flags(self._flags(compiler)), *self.wrapped, *self.link_flags]
        processors = [processor()] if self.is_native else []
        parts: list[str | bytes] = [self.kind, self.text, *words, *processors, *objects, *self.apart, *self.contents]
        return compiler, content_key(parts)

    def _flags(self, compiler: HostCompiler) -> tuple[str, ...]:
        return (*self.flags, *self.flags_of_compiler(compiler), *self.users_flags)

    def _flags_at(self, level: Level, compiler: HostCompiler) -> tuple[str, ...]:
        """Flags with those of a level in place of this processor's."""
        flags = (flag for flag in self._flags(compiler) if flag not in NATIVE_FLAGS)
        return (*flags, *(level.flags if self.is_native else ()))

    def _link(
        self, compiler: HostCompiler, scratch: Path, target: Path, flags: tuple[str, ...], objects: Sequence[Path]
    ) -> None:
        linked = (objects, self.wrapped, self.keep_relocations, self.link_flags)
        log = compiler.build_library(self.text, flags, self.folders, scratch, target, *linked)
        if log:
            raise self.refuse(log, compiler)

    def _compile(self, compiler: HostCompiler, scratch: Path, target: Path, flags: tuple[str, ...]) -> None:
        log = compiler.build_object(self.text, flags, self.folders, scratch, target)
        if log:
            raise self.refuse(log, compiler)


def does_not_compile(what: str) -> Callable[[str, HostCompiler], BuildError]:
    """Make the error for a source of the package's own."""

    def refuse(log: str, compiler: HostCompiler) -> BuildError:
        return BuildError(f"{what} does not compile with {compiler.version}: {first_error(log)}", log)

    return refuse


@contextlib.contextmanager
def recorded_libraries() -> Iterator[list[LibrarySource]]:
    """Make a list of the sources of all libraries that are asked for meanwhile, in any thread."""
    recorded = list[LibrarySource]()
    _recorders.append(recorded)
    try:
        yield recorded
    finally:
        _recorders.remove(recorded)
