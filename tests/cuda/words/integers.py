"""CUDA's functions of whole numbers, with what they return in Python's."""

from __future__ import annotations

from collections.abc import Callable

from tests.cuda.words.word import Word, word

M32, M64 = 2**32 - 1, 2**64 - 1


def wrapped(value: int, bits: int = 32, signed: bool = True) -> int:
    """The number of so many bits that is left of one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def of_24(value: int) -> int:
    return wrapped(value, 24)


def parts(value: int, width: int, signed: bool, count: int) -> list[int]:
    """The numbers of ``width`` bits in a word, the lowest first."""
    return [wrapped(value >> width * i, width, signed) for i in range(count)]


def dot(first: int, second: int, of_half: slice | None, signed: bool) -> int:
    a = parts(first, 8 if of_half is None else 16, signed, 4 if of_half is None else 2)
    b = parts(second, 8, signed, 4)[slice(None) if of_half is None else of_half]
    return sum(x * y for x, y in zip(a, b, strict=True))


def dots(name: str, of_half: slice | None, types: tuple[str, str, str, str]) -> list[Word]:
    """A dot product of both signs, and of vectors of each."""
    found = []
    for signed, first, second in ((True, *types[:2]), (False, *types[2:])):
        whole = "int" if signed else "unsigned"

        def result(a: int, b: int, c: int, signed: bool = signed) -> int:
            return wrapped(dot(a, b, of_half, signed) + c, 32, signed)

        found += [word(f"{whole} {name}({whole}, {whole}, {whole})", result)]
        found += [word(f"{whole} {name}({first}, {second}, {whole})", result)]
    return found


def nth_set_bit(mask: int, base: int, offset: int) -> int:
    base &= 31
    if offset == 0:
        return base if mask >> base & 1 else M32
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    places = [i for i in order if mask >> i & 1]
    return places[abs(offset) - 1] if abs(offset) <= len(places) else M32


def permuted(x: int, y: int, selector: int) -> int:
    data = [(y << 32 | x) >> 8 * i & 255 for i in range(8)]
    return sum(data[selector >> 4 * i & 7] << 8 * i for i in range(4))


def reversed_bits(bits: int) -> Callable[[int], int]:
    return lambda x: int(f"{x:0{bits}b}"[::-1], 2)


WORDS = [
    word("int __popc(unsigned)", int.bit_count),
    word("int __popcll(unsigned long long)", int.bit_count),
    word("int __clz(int)", lambda x: 32 - (x & M32).bit_length()),
    word("int __clzll(long long)", lambda x: 64 - (x & M64).bit_length()),
    word("int __ffs(int)", lambda x: (x & -x & M32).bit_length()),
    word("int __ffsll(long long)", lambda x: (x & -x & M64).bit_length()),
    word("unsigned __brev(unsigned)", reversed_bits(32)),
    word("unsigned long long __brevll(unsigned long long)", reversed_bits(64)),
    word("unsigned __nv_bswap32(unsigned)", lambda x: int.from_bytes(x.to_bytes(4, "little"), "big")),
    word(
        "unsigned long long __nv_bswap64(unsigned long long)", lambda x: int.from_bytes(x.to_bytes(8, "little"), "big")
    ),
    word("unsigned __byte_perm(unsigned, unsigned, unsigned)", permuted),
    word("unsigned __fns(unsigned, unsigned char, int)", nth_set_bit),
    word(
        "unsigned __funnelshift_l(unsigned, unsigned, unsigned)", lambda a, b, s: (b << 32 | a) << (s & 31) >> 32 & M32
    ),
    word("unsigned __funnelshift_r(unsigned, unsigned, unsigned)", lambda a, b, s: (b << 32 | a) >> (s & 31) & M32),
    word(
        "unsigned __funnelshift_lc(unsigned, unsigned, unsigned)",
        lambda a, b, s: (b << 32 | a) << min(s, 32) >> 32 & M32,
    ),
    word("unsigned __funnelshift_rc(unsigned, unsigned, unsigned)", lambda a, b, s: (b << 32 | a) >> min(s, 32) & M32),
    word("int __mulhi(int, int)", lambda a, b: a * b >> 32),
    word("unsigned __umulhi(unsigned, unsigned)", lambda a, b: a * b >> 32),
    word("long long __mul64hi(long long, long long)", lambda a, b: a * b >> 64),
    word("unsigned long long __umul64hi(unsigned long long, unsigned long long)", lambda a, b: a * b >> 64),
    word("int __mul24(int, int)", lambda a, b: wrapped(of_24(a) * of_24(b))),
    word("unsigned __umul24(unsigned, unsigned)", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & M32),
    word("int __hadd(int, int)", lambda a, b: a + b >> 1),
    word("int __rhadd(int, int)", lambda a, b: a + b + 1 >> 1),
    word("unsigned __uhadd(unsigned, unsigned)", lambda a, b: a + b >> 1),
    word("unsigned __urhadd(unsigned, unsigned)", lambda a, b: a + b + 1 >> 1),
    word("unsigned __sad(int, int, unsigned)", lambda a, b, c: abs(a - b) + c & M32),
    word("unsigned __usad(unsigned, unsigned, unsigned)", lambda a, b, c: abs(a - b) + c & M32),
    *dots("__dp4a", None, ("char4", "char4", "uchar4", "uchar4")),
    *dots("__dp2a_lo", slice(0, 2), ("short2", "char4", "ushort2", "uchar4")),
    *dots("__dp2a_hi", slice(2, 4), ("short2", "char4", "ushort2", "uchar4")),
    word("int min(int, int)", min),
    word("unsigned max(int, unsigned)", lambda a, b: max(a & M32, b)),
    word("long long min(long long, long long)", min),
    word("unsigned long long max(unsigned long long, long long)", lambda a, b: max(a, b & M64)),
    word("unsigned umin(unsigned, unsigned)", min),
    word("unsigned umax(unsigned, unsigned)", max),
    word("long long llmin(long long, long long)", min),
    word("long long llmax(long long, long long)", max),
    word("unsigned long long ullmin(unsigned long long, unsigned long long)", min),
    word("unsigned long long ullmax(unsigned long long, unsigned long long)", max),
]
