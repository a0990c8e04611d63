"""The text that calls a kernel with what a launch passes, its leaves one by one, and puts its structs together.

Only the author's kernel knows its structs. Putting them together costs nothing once it is inlined, and their layout is
the compiler's affair alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from warpworld.managers.signature import Parameter, ParameterLeaf, Signature, Struct


def structs_of(parameters: Sequence[Parameter]) -> list[Struct]:
    """The structs among some parameters, each once, behind those that are its fields."""
    found: dict[str, Struct] = {}
    for parameter in parameters:
        if parameter.struct is not None:
            found |= {struct.name: struct for struct in structs_of(parameter.struct.fields)}
            found[parameter.struct.name] = parameter.struct
    return list(found.values())


def maker(struct: Struct) -> str:
    """A function that puts a struct together; the compiler confirms number, order and types of the fields in it."""
    types = [field.declaration for field in struct.fields]
    listed = ", ".join(f"{c_type} a{i}" for i, c_type in enumerate(types))
    passed, bound = (", ".join(f"{letter}{i}" for i in range(len(types))) for letter in "ab")
    seen = ", ".join(f"decltype(b{i})" for i in range(len(types)))
    return (
        f"WW_FUNCTION {struct.name} {_maker_of(struct)}({listed}) {{ {struct.name} made{{{passed}}}; "
        f"[[maybe_unused]] auto& [{bound}] = made; static_assert(ww_same<void({seen}), void({', '.join(types)})>"
        f'::ww_value, "fields of {struct.name}"); return made; }}\n'
    )


def declared(leaves: Sequence[ParameterLeaf]) -> list[str]:
    """Declarations of a0, a1, ...: without names of their own, as an array may be called like a kernel."""
    return [f"{leaf.parameter.declaration} a{i}" for i, leaf in enumerate(leaves)]


def call_of(signature: Signature) -> str:
    """The call of a kernel with a0, a1, ..."""
    return f"{signature.name}({_passed(signature.parameters, itertools.count())})"


def host_entry(signature: Signature, threads: int) -> str:
    """Export of a kernel on a CPU: a kernel without structs takes its leaves itself."""
    if not structs_of(signature.parameters):
        return f"WW_KERNEL({signature.name}, {signature.name}, {threads})\n"
    caller = f"ww_call_{signature.name}"
    return (
        f"WW_INLINE void {caller}({', '.join(declared(signature.leaves))}) {{ {call_of(signature)}; }}\n"
        f"WW_KERNEL({signature.name}, {caller}, {threads})\n"
    )


def _maker_of(struct: Struct) -> str:
    return f"ww_make_{struct.name}"


def _passed(parameters: Sequence[Parameter], numbers: Iterator[int]) -> str:
    return ", ".join(
        f"a{next(numbers)}"
        if parameter.struct is None
        else f"{_maker_of(parameter.struct)}({_passed(parameter.struct.fields, numbers)})"
        for parameter in parameters
    )
