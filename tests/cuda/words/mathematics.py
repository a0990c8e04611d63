"""CUDA's mathematical functions, beside mpmath's; the bounds are at most those of CUDA's reference, or of glibc's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as m

from tests.cuda.words.word import Word, word

m.mp.prec = 240

PI = m.pi


def norm(*numbers: float) -> Any:
    return m.sqrt(sum(m.mpf(x) ** 2 for x in numbers))


def cdf(x: float) -> Any:
    return m.erfc(-m.mpf(x) / m.sqrt(2)) / 2


def half_turns(function: Callable[[Any], Any]) -> Callable[[float], Any]:
    return lambda x: function(PI * m.mpf(x))


def normal_quantile(p: float) -> Any:
    return -m.sqrt(2) * inverse_erfc(2 * m.mpf(p))


def inverse_erfc(y: Any) -> Any:
    y = m.mpf(y)
    return m.erfinv(1 - y)


# name -> arguments, oracle, domain, bound of float and of double in units of the last place
FUNCTIONS: dict[str, tuple[int, Callable[..., Any], tuple[float, float], float, float]] = {
    "sqrt": (1, m.sqrt, (0, 1e6), 0, 0),
    "rsqrt": (1, lambda x: 1 / m.sqrt(x), (1e-6, 1e6), 2, 2),
    "cbrt": (1, lambda x: m.sign(x) * m.cbrt(abs(m.mpf(x))), (-1e6, 1e6), 1, 4),
    "rcbrt": (1, lambda x: 1 / m.cbrt(x), (1e-6, 1e6), 1, 2),
    "hypot": (2, norm, (-1e3, 1e3), 1, 1),
    "rhypot": (2, lambda a, b: 1 / norm(a, b), (1e-3, 1e3), 1, 2),
    "norm3d": (3, norm, (-1e3, 1e3), 1, 2),
    "rnorm3d": (3, lambda *x: 1 / norm(*x), (1e-3, 1e3), 1, 2),
    "norm4d": (4, norm, (-1e3, 1e3), 1, 2),
    "rnorm4d": (4, lambda *x: 1 / norm(*x), (1e-3, 1e3), 1, 2),
    "exp": (1, m.exp, (-80, 80), 1, 1),
    "exp2": (1, lambda x: m.mpf(2) ** x, (-100, 100), 1, 1),
    "exp10": (1, lambda x: m.mpf(10) ** x, (-30, 30), 1, 2),
    "expm1": (1, m.expm1, (-2, 2), 1, 1),
    "log": (1, m.log, (1e-6, 1e6), 1, 1),
    "log2": (1, lambda x: m.log(x, 2), (1e-6, 1e6), 1, 1),
    "log10": (1, m.log10, (1e-6, 1e6), 2, 2),
    "log1p": (1, m.log1p, (-0.9, 9), 1, 1),
    "pow": (2, lambda a, b: m.mpf(a) ** b, (0.1, 20), 1, 1),
    "sin": (1, m.sin, (-1e3, 1e3), 1, 1),
    "cos": (1, m.cos, (-1e3, 1e3), 1, 1),
    "tan": (1, m.tan, (-1e2, 1e2), 2, 2),
    "sinpi": (1, half_turns(m.sin), (-9, 9), 1, 2),
    "cospi": (1, half_turns(m.cos), (-9, 9), 1, 2),
    "asin": (1, m.asin, (-1, 1), 1, 1),
    "acos": (1, m.acos, (-1, 1), 1, 1),
    "atan": (1, m.atan, (-1e2, 1e2), 1, 1),
    "atan2": (2, m.atan2, (-1e2, 1e2), 1, 1),
    "sinh": (1, m.sinh, (-9, 9), 2, 2),
    "cosh": (1, m.cosh, (-9, 9), 2, 2),
    "tanh": (1, m.tanh, (-9, 9), 2, 2),
    "asinh": (1, m.asinh, (-1e2, 1e2), 2, 2),
    "acosh": (1, m.acosh, (1.01, 1e2), 2, 2),
    "atanh": (1, m.atanh, (-0.99, 0.99), 2, 2),
    "erf": (1, m.erf, (-4, 4), 2, 2),
    "erfc": (1, m.erfc, (-4, 9), 5, 5),
    "erfinv": (1, m.erfinv, (-0.9999, 0.9999), 1, 5),
    "erfcinv": (1, inverse_erfc, (1e-4, 1.9), 1, 6),
    "erfcx": (1, lambda x: m.exp(m.mpf(x) ** 2) * m.erfc(x), (-5, 40), 1, 6),
    "normcdf": (1, cdf, (-12, 8), 1, 6),
    "normcdfinv": (1, normal_quantile, (1e-4, 0.45), 1, 7),
    "tgamma": (1, m.gamma, (0.5, 30), 5, 10),
    "lgamma": (1, m.loggamma, (3, 1e3), 4, 4),
    "j0": (1, lambda x: m.besselj(0, x), (0.1, 2), 4, 4),
    "j1": (1, lambda x: m.besselj(1, x), (0.1, 3), 4, 4),
    "y0": (1, lambda x: m.bessely(0, x), (1.2, 3), 4, 4),
    "y1": (1, lambda x: m.bessely(1, x), (0.1, 2), 4, 4),
    "cyl_bessel_i0": (1, lambda x: m.besseli(0, x), (-60, 60), 1, 6),
    "cyl_bessel_i1": (1, lambda x: m.besseli(1, x), (-60, 60), 1, 6),
    "fma": (3, lambda a, b, c: m.mpf(a) * b + c, (-1e3, 1e3), 0, 0),
    "fmod": (2, lambda a, b: m.mpf(a) - m.mpf(b) * int(m.mpf(a) / b), (1, 1e3), 0, 0),
    "fdim": (2, lambda a, b: max(m.mpf(a) - b, m.mpf(0)), (-1e3, 1e3), 0, 0),
    "fmax": (2, max, (-1e3, 1e3), 0, 0),
    "fmin": (2, min, (-1e3, 1e3), 0, 0),
    "fabs": (1, abs, (-1e3, 1e3), 0, 0),
    "floor": (1, m.floor, (-1e3, 1e3), 0, 0),
    "ceil": (1, m.ceil, (-1e3, 1e3), 0, 0),
    "rint": (1, m.nint, (-1e3, 1e3), 0, 0),
    "nearbyint": (1, m.nint, (-1e3, 1e3), 0, 0),
}


def words_of(kind: str) -> list[Word]:
    f, at = ("f", 3) if kind == "float" else ("", 4)
    return [
        word(f"{kind} {name}{f}({', '.join([kind] * row[0])})", row[1], row[at], row[2])
        for name, row in FUNCTIONS.items()
    ]


def both(first: Callable[[float], Any], second: Callable[[float], Any]) -> Callable[[float], tuple[Any, Any]]:
    return lambda x: (first(x), second(x))


QUICK: dict[str, tuple[int, Callable[..., Any], tuple[float, float]]] = {
    "__sinf": (1, m.sin, (-3, 3)),
    "__cosf": (1, m.cos, (-3, 3)),
    "__tanf": (1, m.tan, (-1.5, 1.5)),
    "__expf": (1, m.exp, (-80, 80)),
    "__exp10f": (1, lambda x: m.mpf(10) ** x, (-30, 30)),
    "__logf": (1, m.log, (1e-6, 1e6)),
    "__log2f": (1, lambda x: m.log(x, 2), (1e-6, 1e6)),
    "__log10f": (1, m.log10, (1e-6, 1e6)),
    "__powf": (2, lambda a, b: m.mpf(a) ** b, (0.1, 20)),
    "__fdividef": (2, lambda a, b: m.mpf(a) / b, (0.1, 20)),
    "fdividef": (2, lambda a, b: m.mpf(a) / b, (0.1, 20)),
    "__tanhf": (1, m.tanh, (-9, 9)),
}

SINGLE = [
    *words_of("float"),
    *(word(f"float {name}({', '.join(['float'] * row[0])})", row[1], 2, row[2]) for name, row in QUICK.items()),
    word("void sincosf(float, float*, float*)", both(m.sin, m.cos), 1, (-1e3, 1e3)),
    word("void __sincosf(float, float*, float*)", both(m.sin, m.cos), 1, (-3, 3)),
    word("void sincospif(float, float*, float*)", both(half_turns(m.sin), half_turns(m.cos)), 1, (-9, 9)),
    word("float rsqrt(float)", lambda x: 1 / m.sqrt(x), 2, (1e-6, 1e6)),
    word("float exp10(float)", lambda x: m.mpf(10) ** x, 1, (-30, 30)),
    word("float sinpi(float)", half_turns(m.sin), 1, (-9, 9)),
    word("float erfcx(float)", FUNCTIONS["erfcx"][1], 1, (-5, 40)),
    word("float normcdf(float)", cdf, 1, (-12, 8)),
]
DOUBLE = [
    *words_of("double"),
    word("void sincos(double, double*, double*)", both(m.sin, m.cos), 1, (-1e3, 1e3)),
    word("void sincospi(double, double*, double*)", both(half_turns(m.sin), half_turns(m.cos)), 2, (-9, 9)),
]
