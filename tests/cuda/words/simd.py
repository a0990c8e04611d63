"""CUDA's functions of two or four numbers in a word, and its sums followed by a comparison."""

from __future__ import annotations

from collections.abc import Callable

from tests.cuda.words.integers import parts, wrapped
from tests.cuda.words.word import Word, word


def each_part(name: str, signed: bool, operation: Callable[..., int], count: int = 2) -> list[Word]:
    """The words for two and for four numbers; ``operation`` takes a part of each argument, and the type's ends."""
    found = []
    for width in (16, 8):
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)

        def apply(*given: int, width: int = width, low: int = low, high: int = high) -> int:
            split = [parts(each, width, signed, 32 // width) for each in given]
            results = [operation(*each, low, high) for each in zip(*split, strict=True)]
            return sum(int(each) % (1 << width) << width * i for i, each in enumerate(results))

        found.append(word(f"unsigned {name}{32 // width}({', '.join(['unsigned'] * count)})", apply))
    return found


def clamped(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def sums(name: str, signed: bool) -> list[Word]:
    def apply(a: int, b: int, width: int) -> int:
        count = 32 // width
        return sum(
            abs(x - y) for x, y in zip(parts(a, width, signed, count), parts(b, width, signed, count), strict=True)
        )

    return [
        word(f"unsigned {name}2(unsigned, unsigned)", lambda a, b: apply(a, b, 16)),
        word(f"unsigned {name}4(unsigned, unsigned)", lambda a, b: apply(a, b, 8)),
    ]


COMPARISONS: dict[str, tuple[bool, Callable[[int, int], bool]]] = {
    "eq": (False, lambda a, b: a == b),
    "ne": (False, lambda a, b: a != b),
    "ges": (True, lambda a, b: a >= b),
    "geu": (False, lambda a, b: a >= b),
    "gts": (True, lambda a, b: a > b),
    "gtu": (False, lambda a, b: a > b),
    "les": (True, lambda a, b: a <= b),
    "leu": (False, lambda a, b: a <= b),
    "lts": (True, lambda a, b: a < b),
    "ltu": (False, lambda a, b: a < b),
}


def of_three(way: str, pick: Callable[..., int]) -> list[Word]:
    """The words of DPX for one of max and min."""
    found = []
    for kind, signed, suffixes in (("s", True, ("", "_relu")), ("u", False, ("",))):
        whole = "int" if signed else "unsigned"
        for relu in suffixes:

            def third(a: int, b: int, c: int, relu: str = relu) -> int:
                return max(pick(a, b, c), 0) if relu else pick(a, b, c)

            def added(a: int, b: int, c: int, width: int, signed: bool = signed, relu: str = relu) -> int:
                result = pick(wrapped(a + b, width, signed), c)
                return max(result, 0) if relu else result

            def in_halves(operation: Callable[..., int], signed: bool = signed) -> Callable[..., int]:
                def apply(*given: int) -> int:
                    split = [parts(each, 16, signed, 2) for each in given]
                    return sum(operation(*each) % 2**16 << 16 * i for i, each in enumerate(zip(*split, strict=True)))

                return apply

            add_32 = lambda a, b, c, f=added: f(a, b, c, 32)  # noqa: E731
            add_16 = lambda a, b, c, f=added: f(a, b, c, 16)  # noqa: E731
            found += [
                word(f"{whole} __vi{way}3_{kind}32{relu}({whole}, {whole}, {whole})", third),
                word(f"{whole} __viadd{way}_{kind}32{relu}({whole}, {whole}, {whole})", add_32),
                word(f"unsigned __vi{way}3_{kind}16x2{relu}(unsigned, unsigned, unsigned)", in_halves(third)),
                word(f"unsigned __viadd{way}_{kind}16x2{relu}(unsigned, unsigned, unsigned)", in_halves(add_16)),
            ]
            if relu:
                two = lambda a, b, f=third: f(a, b, b)  # noqa: E731
                found += [
                    word(f"int __vi{way}_s32_relu(int, int)", two),
                    word(f"unsigned __vi{way}_s16x2_relu(unsigned, unsigned)", in_halves(two)),
                ]
        is_first = (lambda a, b: a >= b) if way == "max" else (lambda a, b: a <= b)
        found.append(
            word(
                f"{whole} __vib{way}_{kind}32({whole}, {whole}, bool*)", lambda a, b, f=is_first: (pick(a, b), f(a, b))
            )
        )

        def chosen(a: int, b: int, signed: bool = signed, f: Callable[[int, int], bool] = is_first) -> tuple[int, ...]:
            (low_a, high_a), (low_b, high_b) = parts(a, 16, signed, 2), parts(b, 16, signed, 2)
            both = pick(low_a, low_b) % 2**16 | pick(high_a, high_b) % 2**16 << 16
            return both, f(high_a, high_b), f(low_a, low_b)

        found.append(word(f"unsigned __vib{way}_{kind}16x2(unsigned, unsigned, bool*, bool*)", chosen))
    return found


WORDS = [
    *each_part("__vabs", True, lambda a, low, high: abs(a), 1),
    *each_part("__vabsss", True, lambda a, low, high: min(abs(a), high), 1),
    *each_part("__vneg", True, lambda a, low, high: -a, 1),
    *each_part("__vnegss", True, lambda a, low, high: min(-a, high), 1),
    *each_part("__vabsdiffs", True, lambda a, b, low, high: abs(a - b)),
    *each_part("__vabsdiffu", False, lambda a, b, low, high: abs(a - b)),
    *each_part("__vadd", False, lambda a, b, low, high: a + b),
    *each_part("__vaddss", True, lambda a, b, low, high: clamped(a + b, low, high)),
    *each_part("__vaddus", False, lambda a, b, low, high: min(a + b, high)),
    *each_part("__vavgs", True, lambda a, b, low, high: (a + b + (a + b >= 0)) >> 1),
    *each_part("__vavgu", False, lambda a, b, low, high: a + b + 1 >> 1),
    *each_part("__vhaddu", False, lambda a, b, low, high: a + b >> 1),
    *each_part("__vmaxs", True, lambda a, b, low, high: max(a, b)),
    *each_part("__vmaxu", False, lambda a, b, low, high: max(a, b)),
    *each_part("__vmins", True, lambda a, b, low, high: min(a, b)),
    *each_part("__vminu", False, lambda a, b, low, high: min(a, b)),
    *each_part("__vsub", False, lambda a, b, low, high: a - b),
    *each_part("__vsubss", True, lambda a, b, low, high: clamped(a - b, low, high)),
    *each_part("__vsubus", False, lambda a, b, low, high: max(a - b, 0)),
    *(
        each
        for name, (signed, holds) in COMPARISONS.items()
        for each in (
            *each_part(f"__vcmp{name}", signed, lambda a, b, low, high, holds=holds: -1 if holds(a, b) else 0),
            *each_part(f"__vset{name}", signed, lambda a, b, low, high, holds=holds: holds(a, b)),
        )
    ),
    *sums("__vsads", True),
    *sums("__vsadu", False),
    *of_three("max", max),
    *of_three("min", min),
]
