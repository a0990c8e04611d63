"""Compiles a kernel file and binds its kernels' parameters, by name, to arrays and numbers."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from warpworld.environment import MAX_THREADS_PER_ENV, HostCode, Kernel
from warpworld.errors import BindError, BuildError, StoreError, suggest
from warpworld.files import check_file, reason
from warpworld.managers.backend import Backend
from warpworld.managers.binding import Binding
from warpworld.managers.compiler_errors import TOO_MUCH_SHARED
from warpworld.managers.data_manager import DataManager
from warpworld.managers.device_variables import Declaration, fill, read_declarations
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource, takes_turns, threads_of_block
from warpworld.managers.numbers import Number, Scalar, fits, scalar_of
from warpworld.managers.program import Argument, Needs, RunKernel
from warpworld.managers.signature import Signature, read_signatures
from warpworld.managers.source_text import without_comments
from warpworld.managers.structs import with_structs

Given = Sequence[str | Number] | Mapping[str, str | Number] | None
_WARPDRIVE = (INCLUDE_FOLDER / "warpdrive.cuh").resolve()
_INCLUDES_WARPDRIVE = re.compile(r"^\s*#\s*include\s*[<\"]warpdrive\.cuh[>\"]", re.MULTILINE)


class FunctionManager:
    """The kernels of one ``.cu`` file.

    Args:
        backend: what compiles them.
        data: the store whose arrays they take.
        path: the file.
        constants: macros that the build defines; ``NUM_AGENTS`` is among them.
        scalars: numbers that parameters passed by value may name; a Scalar says how one is declared.
        aliases: parameter name -> array name, where they differ.
        writable: arrays that are read-only for other kernels, but not for these.
        includes: headers that come before the file, by the names that an #include would have.
        contents: what the host fills variables of the file with, by their names.
        behind: files of the package that are compiled behind the file.
        host: settings of a file that only a CPU can run.
        envs_per_warp: how many envs share a warp, 0 for one env a block; None for what the backend likes best, where
            the kernels allow it.

    Raises:
        BindError: a file cannot be read, or a kernel in it cannot be bound; or contents fit no variable.
    """

    def __init__(
        self,
        backend: Backend,
        data: DataManager,
        path: Path,
        constants: Mapping[str, Number],
        scalars: Mapping[str, Number | Scalar],
        aliases: Mapping[str, str] | None = None,
        writable: Set[str] = frozenset(),
        envs_per_warp: int | None = None,
        includes: Sequence[str] = (),
        contents: Mapping[str, Any] = MappingProxyType({}),
        behind: Sequence[Path] = (),
        host: HostCode | None = None,
    ) -> None:
        self._backend, self._path = backend, path
        self._constants = {name: _constant(path, name, scalar_of(value)) for name, value in constants.items()}
        numbers = {name: each if isinstance(each, Scalar) else scalar_of(each) for name, each in scalars.items()}
        self._asked_envs_per_warp, self._envs_per_warp = envs_per_warp, 0
        # the file, with its headers
        self._text = _read(path)
        self._includes, self._behind, self._host = _find_headers(path, includes), tuple(behind), host
        self.ported = _WARPDRIVE in self._includes or _INCLUDES_WARPDRIVE.search(self._text) is not None
        self._binding = Binding(data, numbers, dict(aliases or {}), writable, self.ported)
        # its kernels, and variables that get contents
        before, after = ({each: _read(each) for each in files} for files in (self._includes, self._behind))
        own = {**before, path: self._text, **after}
        self.signatures = with_structs(_read_all(own), self._read_included)
        none_given = isinstance(contents, Mapping) and not contents
        self._filled = () if none_given else fill(path, self._declarations(), contents)
        # results of build()
        self._threads: dict[str, int] = {}
        self._why_no_turns: str | None = None
        self._packed: frozenset[str] = frozenset()
        self._modules: dict[str, Any] = {}

    @property
    def envs_per_warp(self) -> int:
        """Number of envs that share a warp in all kernels, 0 otherwise; known once the kernels are built."""
        return self._envs_per_warp if self._packed >= set(self.signatures) else 0

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        """Refuse: a copy of a part of a world would work on the arrays of the original."""
        raise StoreError(
            f"the kernels of {self._path.name} are bound to their world's arrays; copy the world, and make this part "
            "again"
        )

    def _read_included(self) -> dict[Path, str]:
        """The file and all that it includes."""
        files = KernelSource(self._path, self._text, {}, (), (), includes=self._includes)
        source = dataclasses.replace(files, behind=self._behind, host=self._host)
        return {self._path: self._text, **{path: data.decode(errors="replace") for path, data in source.included()}}

    def mentions(self, words: re.Pattern[str]) -> bool:
        """Whether the file, or one of the author's that it includes, has some words outside of comments."""
        texts = (text for path, text in self._read_included().items() if INCLUDE_FOLDER not in path.parents)
        return any(words.search(without_comments(text)) for text in texts)

    def _declarations(self) -> dict[str, Declaration]:
        return read_declarations(self._read_included().values())

    def require(self, names: Iterable[str]) -> None:
        """Check that the file has these kernels.

        Raises:
            BindError: it has not; with those that it has.
            BuildError: it has not, since it does not compile.
        """
        for name in names:
            if name not in self.signatures:
                self.build(())  # a syntax error can hide the kernels after it, and the compiler says it better
                has = ", ".join(self.signatures) or "none"
                raise BindError(
                    f"{self._path}: no `__global__` function '{name}'.{suggest(name, self.signatures)} "
                    f"Kernels in the file: {has} (those that a macro makes are not seen)"
                )

    def build(self, kernels: Iterable[Kernel]) -> None:
        """Compile the file.

        Args:
            kernels: those that are to run with another number of threads than one per agent.

        Raises:
            BuildError: it does not compile.
            BindError: a kernel is not what the compiler sees.
        """
        # the source, at the sizes that are asked for
        kernels = list(kernels)
        self._threads = self._threads_of_blocks(kernels)
        source = KernelSource(
            path=self._path,
            text=self._text,
            constants=self._constants,
            signatures=tuple(self.signatures.values()),
            threads=tuple(self._threads.values()),
            includes=self._includes,
            filled=self._filled,
            behind=self._behind,
            host=self._host,
        )
        # turns, if agents outnumber the threads of a block
        self._why_no_turns = self._against_turns(source) if any(map(takes_turns, source.threads)) else None
        if self._why_no_turns is not None:  # kernels of the file that are not launched are built, too
            source = dataclasses.replace(source, threads=tuple(min(n, MAX_THREADS_PER_ENV) for n in source.threads))
        # modules, with envs that share warps where shared memory suffices
        self._envs_per_warp, self._packed = self._packing(source, {kernel.name for kernel in kernels})
        try:
            self._modules = self._built(source)
        except BuildError as error:
            if self._asked_envs_per_warp is not None or TOO_MUCH_SHARED not in error.log:
                raise
            self._envs_per_warp, self._packed = 0, frozenset()  # one env has the block's memory to itself
            self._modules = self._built(source)

    def _packing(self, source: KernelSource, launched: Set[str]) -> tuple[int, frozenset[str]]:
        """Number of envs that share a warp, 0 for one env a block, and the kernels in which they do.

        Where some kernels have more threads than agents, envs share warps in the others that are launched.
        """
        if self._asked_envs_per_warp is not None:
            asked = self._asked_envs_per_warp
            return asked, frozenset(self.signatures if asked else ())
        num_agents = int(self._constants["NUM_AGENTS"])
        fitting = self._backend.warp_size // num_agents
        if not self._backend.packs_envs or fitting < 2 or not source.uses_header_words_only():
            return 0, frozenset()
        if set(self._threads.values()) <= {num_agents}:
            return fitting, frozenset(self.signatures)
        able = frozenset(name for name in launched if self._threads[name] == num_agents)
        has_variables = bool(self._declarations()) or source.keeps_state()  # which are of one module
        return (fitting, able) if able and not has_variables else (0, frozenset())

    def _built(self, source: KernelSource) -> dict[str, Any]:
        """The compiled module of each kernel: of kernels in which envs share warps, and of the others."""
        if not self._packed or self._packed >= set(self.signatures):
            module = self._backend.build(dataclasses.replace(source, envs_per_warp=self._envs_per_warp))
            return dict.fromkeys(self.signatures, module)
        found: dict[str, Any] = {}
        for packing in (0, self._envs_per_warp):
            names = [name for name in self.signatures if (name in self._packed) == (packing > 0)]
            found |= dict.fromkeys(names, self._backend.build(source.with_kernels(names, packing)))
        return found

    def _threads_of_blocks(self, kernels: Iterable[Kernel]) -> dict[str, int]:
        num_agents = int(self._constants["NUM_AGENTS"])
        asked: dict[str, int] = {}
        for kernel in kernels:
            threads = kernel.threads(num_agents, self._backend.side_by_side, bool(self._asked_envs_per_warp))
            if asked.setdefault(kernel.name, threads) != threads:
                raise BindError(
                    f"{self._path}: kernel '{kernel.name}' is asked for with {asked[kernel.name]} and with {threads} "
                    "threads_per_env; a kernel has one number"
                )
            if self._asked_envs_per_warp and threads != num_agents:
                raise BindError(
                    f"{self._path}: kernel '{kernel.name}' has {threads} threads_per_env; only kernels of one thread "
                    "per agent can share a warp with other envs"
                )
        found = {name: asked.get(name, num_agents) for name in self.signatures}
        return found

    def _against_turns(self, source: KernelSource) -> str | None:
        """Reason why an env's lanes cannot take turns in the kernels of this file, or None if they can."""
        word = source.barrier_word()
        return word and (
            f"more than the {MAX_THREADS_PER_ENV} of a block. They would take turns, but its file uses {word}, which "
            f"takes all of them at once. Declare it with threads_per_env=(1, {MAX_THREADS_PER_ENV}) and loop over "
            "agents from lane() in steps of num_lanes(), or ask for fewer agents"
        )

    def _check_turns(self, name: str) -> None:
        if takes_turns(self._threads[name]) and self._why_no_turns is not None:
            place = f"{self.signatures[name].path}:{self.signatures[name].line}"
            raise BindError(
                f"{place}: kernel '{name}' has a thread for each of {self._threads[name]} agents, {self._why_no_turns}"
            )

    def arguments(self, name: str, given: Given = None) -> tuple[Argument, ...]:
        """Bind each parameter of a kernel: to ``given`` in order, to its entry in a mapping, or by its name.

        Raises:
            BindError: parameters fit nothing, or something of another type; with what was expected.
        """
        signature = self.signatures[name]
        if given is None or isinstance(given, Mapping):
            return self._binding.by_name(signature, given)
        return self._binding.by_position(signature, given)

    def readings(self, name: str, given: Given = None) -> dict[str, str]:
        """Array or number for each parameter that a kernel of a WarpDrive file binds to a similar name, not to its own.

        Args:
            name: of a kernel whose parameters can be bound.
            given: as for ``arguments``; a list binds nothing by name.
        """
        is_by_name = given is None or isinstance(given, Mapping)
        return self._binding.readings(self.signatures[name], given or {}) if is_by_name else {}  # type: ignore[arg-type]

    def step(
        self,
        name: str,
        index: int,
        active_only: bool = False,
        own_env_only: bool = True,
        given: Given = None,
        envs: int | None = None,
        needs: Needs | None = None,
    ) -> RunKernel:
        """A step that runs a kernel of the built module; arguments as the attributes of ``RunKernel``.

        Launches of several warps to a block are the cuda backend's alone, and on a machine without a GPU they run in
        ``make test-cuda`` only, on the stand-in driver: run it after a change here, in launches.py or in gpu/words.cuh.
        ``make test`` sees the numbers of a launch (tests/managers/test_packing.py), but runs none.

        Raises:
            BindError: an env has more lanes than a block has threads, and they cannot take turns.
        """
        self._check_turns(name)
        packed, warps, warp_size = name in self._packed, self._backend.warps_per_block, self._backend.warp_size
        return RunKernel(
            module=self._modules[name],
            name=name,
            arguments=self.arguments(name, given),
            threads=warp_size * warps if packed else threads_of_block(self._threads[name], warp_size),
            envs_per_block=self._envs_per_warp * warps if packed else 1,
            index=index,
            active_only=active_only,
            own_env_only=own_env_only,
            envs=envs,
            needs=needs,
        )


def _read(path: Path) -> str:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise BindError(f"the kernel file is {str(path)!r}; expected a path in UTF-8, so rename its folder") from error
    try:
        check_file(path)
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error)
        raise BindError(f"cannot read the kernel file {path}: {why}; it must be a text file in UTF-8") from error


def _find_headers(path: Path, names: Sequence[str]) -> tuple[Path, ...]:
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    if not is_list or not all(isinstance(name, (str, Path)) for name in names):
        example = names if isinstance(names, str) else "warpdrive.cuh"
        raise BindError(f"includes is {names!r}; expected a tuple of headers, for instance ({example!r},)")
    return tuple(_find_header(path, name) for name in names)


def _find_header(path: Path, name: str) -> Path:
    """A header beside the kernel file, or one of warpworld's."""
    found = next((folder / name for folder in (path.parent, INCLUDE_FOLDER) if (folder / name).is_file()), None)
    if found is None:
        shipped = sorted(header.name for header in INCLUDE_FOLDER.glob("*.cuh"))
        raise BindError(
            f"includes has '{name}', which is neither beside {path} nor one of warpworld's headers."
            f"{suggest(str(name), shipped)} Those are: {', '.join(shipped)}"
        )
    if '"' in str(found.resolve()):
        raise BindError(
            f"includes has '{name}', which is {found.resolve()}: an #include cannot hold a quote, so rename it"
        )
    return found.resolve()


def _read_all(texts: Mapping[Path, str]) -> dict[str, Signature]:
    """The kernels of several files that are compiled as one."""
    found: dict[str, Signature] = {}
    for path, text in texts.items():
        for name, signature in read_signatures(path, text).items():
            if name in found:
                raise BindError(
                    f"{path}:{signature.line}: kernel '{name}' is defined in {found[name].path} too, which comes "
                    "before it; rename this one"
                )
            found[name] = signature
    return found


def _constant(path: Path, name: str, number: Scalar) -> Number:
    """Value of a macro."""
    finite = number.kind is not float or math.isfinite(number.value)
    if not finite or not fits(number, "float32" if number.kind is float else "int64"):
        raise BindError(
            f"{path}: the constant {name} is {number.value!r}; expected a bool, a 64-bit integer or a finite float32"
        )
    constant: Number = number.value
    return constant
