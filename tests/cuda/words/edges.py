"""Results that CUDA's reference states for special arguments: zeros, infinities, NaN, and ends of domains.

The rows of a word are ``arguments=results``, both separated by commas: numbers, ``nan``, ``most`` and ``least`` (the
largest float and the smallest above 0), ``pi`` with a factor, ``~`` before a result that is rounded, or ``?`` for one
that the reference leaves open. A zero has its sign. ``T`` is float or double, or a float of 16 bits; words of
float have an f behind their names.
"""

from __future__ import annotations

import re

from tests.cuda.words.edge_word import EdgeWord, edge_word

_LOG = "0=-inf -0=-inf 1=0 -1=nan -inf=nan inf=inf nan=nan"
_EXP = "0=1 -0=1 -inf=0 inf=inf nan=nan"
_ODD = "0=0 -0=-0 nan=nan"
_WHOLE = f"{_ODD} inf=inf -inf=-inf 3=3 -7=-7"
_COS = "0=1 -0=1 inf=nan -inf=nan nan=nan"
_NORM = {3: "inf,nan,1=inf nan,nan,-inf=inf 0,-0,-0=0 nan,1,2=nan -3,0,4=5"}
_NORM[4] = "inf,nan,1,1=inf nan,nan,2,-inf=inf 0,-0,-0,0=0 nan,1,2,3=nan"
_ONE_OVER = {3: "inf,nan,1=0 nan,nan,-inf=0 0,-0,-0=inf nan,1,2=nan", 4: "inf,nan,1,1=0 0,-0,-0,0=inf nan,1,2,3=nan"}
_SCALED = "0,3=0 -0,3=-0 1.25,0=1.25 inf,-2=inf -inf,2=-inf nan,1=nan 1,3=8 most,1=inf"
_BESSEL_Y = "0=-inf -0=-inf -1=nan inf=0 nan=nan"
_FMA = (
    "inf,0,1=nan -inf,-0,1=nan 0,inf,1=nan inf,1,-inf=nan inf,-1,inf=nan 0,1,0=0 -0,1,-0=-0 nan,1,1=nan 1,nan,1=nan "
    "1,1,nan=nan inf,1,1=inf 1,1,-inf=-inf"
)
_ATAN2 = (
    "0,-0=1pi -0,-0=-1pi 0,0=0 -0,0=-0 0,-2=1pi -0,-2=-1pi 0,2=0 -0,2=-0 -3,0=-.5pi -3,-0=-.5pi 3,0=.5pi 3,-0=.5pi "
    "3,-inf=1pi -3,-inf=-1pi 3,inf=0 -3,inf=-0 inf,3=.5pi -inf,3=-.5pi inf,-inf=.75pi -inf,-inf=-.75pi inf,inf=.25pi "
    "-inf,inf=-.25pi nan,1=nan 1,nan=nan"
)
_POW = (
    "0,-3=inf -0,-3=-inf 0,-2=inf -0,-2=inf -0,-1.5=inf 0,3=0 -0,3=-0 0,2=0 -0,2=0 -0,1.5=0 -1,inf=1 -1,-inf=1 "
    "1,nan=1 1,inf=1 nan,0=1 nan,-0=1 -2,0.5=nan -2,1.5=nan 0.5,-inf=inf -0.5,-inf=inf 2,-inf=0 -2,-inf=0 0.5,inf=0 "
    "-0.5,inf=0 2,inf=inf -2,inf=inf -inf,-3=-0 -inf,-2=0 -inf,-1.5=0 -inf,3=-inf -inf,2=inf -inf,1.5=inf inf,-2=0 "
    "inf,3=inf nan,2=nan 2,nan=nan nan,nan=nan"
)
_SMALLEST = "nan,1=1 1,nan=1 nan,nan=nan nan,inf=inf -inf,1=-inf inf,1=1 -2,3=-2 least,0=0"
_LARGEST = "nan,1=1 1,nan=1 nan,nan=nan nan,-inf=-inf inf,1=inf -inf,1=1 -2,3=3 least,0=least"
_FRACTION = "0,2=0 -0,2=-0 3,inf=3 -3,-inf=-3 inf,2=nan 3,0=nan -3,-0=nan nan,1=nan 1,nan=nan"

# What follows the name of the type and the word: the types of its arguments, then rows.
MATHEMATICS = {
    "T rsqrt(T)": "inf=0 0=inf -0=-inf -1=nan -inf=nan nan=nan",
    "T sqrt(T)": "0=0 -0=-0 inf=inf -1=nan -inf=nan nan=nan",
    "T cbrt(T)": f"{_ODD} inf=inf -inf=-inf",
    "T rcbrt(T)": "0=inf -0=-inf inf=0 -inf=-0 nan=nan",
    "T hypot(T,T)": "-3,0=3 -3,-0=3 inf,nan=inf nan,-inf=inf nan,1=nan 1,nan=nan 0,-0=0",
    "T rhypot(T,T)": "inf,nan=0 nan,-inf=0 -inf,1=0 0,-0=inf -0,-0=inf nan,1=nan",
    "T norm3d(T,T,T)": _NORM[3],
    "T norm4d(T,T,T,T)": _NORM[4],
    "T rnorm3d(T,T,T)": _ONE_OVER[3],
    "T rnorm4d(T,T,T,T)": _ONE_OVER[4],
    **dict.fromkeys(["T exp(T)", "T exp2(T)", "T exp10(T)"], f"{_EXP} most=inf -most=0"),
    "T expm1(T)": f"{_ODD} -inf=-1 inf=inf",
    **dict.fromkeys(["T log(T)", "T log2(T)", "T log10(T)"], _LOG),
    "T log1p(T)": f"{_ODD} -1=-inf -2=nan inf=inf -inf=nan",
    "T pow(T,T)": _POW,
    **dict.fromkeys(["T sin(T)", "T tan(T)", "T sinpi(T)"], f"{_ODD} inf=nan -inf=nan"),
    **dict.fromkeys(["T cos(T)", "T cospi(T)"], _COS),
    "T asin(T)": f"{_ODD} 2=nan -1.5=nan inf=nan",
    "T acos(T)": "1=0 2=nan -1.5=nan -inf=nan nan=nan",
    "T atan(T)": f"{_ODD} inf=.5pi -inf=-.5pi",
    "T atan2(T,T)": _ATAN2,
    **dict.fromkeys(["T sinh(T)", "T asinh(T)"], f"{_ODD} inf=inf -inf=-inf"),
    "T cosh(T)": "0=1 -0=1 inf=inf -inf=inf nan=nan",
    "T tanh(T)": f"{_ODD} inf=1 -inf=-1",
    "T acosh(T)": "1=0 0.5=nan -1=nan -inf=nan inf=inf nan=nan",
    "T atanh(T)": f"{_ODD} 1=inf -1=-inf 2=nan -1.5=nan",
    "T erf(T)": f"{_ODD} inf=1 -inf=-1",
    "T erfc(T)": "-inf=2 inf=0 nan=nan",
    "T erfinv(T)": f"{_ODD} 1=inf -1=-inf 2=nan -1.5=nan",
    "T erfcinv(T)": "0=inf -0=inf 2=-inf -1=nan 2.5=nan nan=nan",
    "T erfcx(T)": "-inf=inf inf=0 nan=nan",
    "T normcdf(T)": "inf=1 -inf=0 nan=nan",
    "T normcdfinv(T)": "0=-inf -0=-inf 1=inf -1=nan 1.5=nan nan=nan",
    "T tgamma(T)": "0=inf -0=-inf -1=nan -2=nan -inf=nan inf=inf nan=nan",
    "T lgamma(T)": "1=0 2=0 0=inf -0=inf -1=inf -2=inf -inf=inf inf=inf nan=nan",
    "T j0(T)": "inf=0 -inf=0 nan=nan",
    "T j1(T)": f"{_ODD} inf=0 -inf=-0",
    **dict.fromkeys(["T y0(T)", "T y1(T)"], _BESSEL_Y),
    "T jn(int,T)": "-1,1=nan -2,0.5=nan 2,nan=nan 2,inf=0 3,0=0 2,1.5=~0.23208767214421472",
    "T yn(int,T)": "-1,1=nan -2,0.5=nan 2,0=-inf 2,-0=-inf 2,-1=nan 2,inf=0 2,nan=nan 2,1.5=~-0.9321937597629739",
    "T cyl_bessel_i0(T)": "0=1 -0=1 inf=inf -inf=inf nan=nan",
    "T cyl_bessel_i1(T)": f"{_ODD} inf=inf -inf=-inf",
    "T fma(T,T,T)": f"{_FMA} 0,1,-0=0 1,1,-1=0 -1,1,1=0",
    "T fmod(T,T)": _FRACTION,
    "T remainder(T,T)": "3,0=nan 3,-0=nan inf,2=nan -inf,2=nan 3,inf=3 -3,-inf=-3 5,2=1 7,2=-1 nan,1=nan 1,nan=nan",
    "T remquo(T,T,int*)": "3,0=nan,? inf,2=nan,? nan,1=nan,? 1,nan=nan,? 3,inf=3,0 -3,-inf=-3,0",
    "T fdim(T,T)": "1,2=0 3,1=2 inf,inf=0 -inf,inf=0 inf,1=inf nan,1=nan 1,nan=nan",
    "T fmin(T,T)": _SMALLEST,
    "T fmax(T,T)": _LARGEST,
    "T fabs(T)": "0=0 -0=0 -inf=inf nan=nan -least=least",
    "T floor(T)": f"{_WHOLE} -0.5=-1 0.5=0 least=0 -least=-1",
    "T ceil(T)": f"{_WHOLE} -0.5=-0 0.5=1 least=1 -least=-0",
    "T trunc(T)": f"{_WHOLE} -0.5=-0 2.75=2 -2.75=-2",
    **dict.fromkeys(["T rint(T)", "T nearbyint(T)"], f"{_WHOLE} 0.5=0 1.5=2 2.5=2 -0.5=-0 -1.5=-2 -2.5=-2"),
    "T round(T)": f"{_WHOLE} 0.5=1 1.5=2 2.5=3 -0.5=-1 -2.5=-3 0.25=0 -0.25=-0",
    **dict.fromkeys(["long lrint(T)", "long long llrint(T)"], "0.5=0 1.5=2 2.5=2 -0.5=0 -2.5=-2 -0=0"),
    **dict.fromkeys(["long lround(T)", "long long llround(T)"], "0.5=1 1.5=2 2.5=3 -0.5=-1 -2.5=-3 -0=0"),
    "T logb(T)": "0=-inf -0=-inf inf=inf -inf=inf nan=nan 8=3 -8=3",
    "int ilogb(T)": "0=-2147483648 -0=-2147483648 nan=-2147483648 inf=2147483647 -inf=2147483647 8=3 0.75=-1",
    **dict.fromkeys(["T scalbn(T,int)", "T scalbln(T,long)", "T ldexp(T,int)"], _SCALED),
    "T frexp(T,int*)": "0=0,0 -0=-0,0 inf=inf,? -inf=-inf,? nan=nan,? 8=0.5,4 -3=-0.75,2",
    "T modf(T,T*)": "inf=0,inf -inf=-0,-inf nan=nan,nan 2=0,2 -2=-0,-2 -0=-0,-0 2.5=0.5,2",
    "T copysign(T,T)": "1,-0=-1 -1,0=1 -2,inf=2 inf,-1=-inf 0,-3=-0 nan,1=nan",
    "T nextafter(T,T)": "1,1=1 0,-0=-0 -0,0=0 0,1=least 0,-1=-least most,inf=inf nan,1=nan 1,nan=nan inf,inf=inf",
    "void sincos(T,T*,T*)": "0=0,1 -0=-0,1 inf=nan,nan -inf=nan,nan nan=nan,nan",
    "void sincospi(T,T*,T*)": "0=0,1 -0=-0,1 inf=nan,nan -inf=nan,nan nan=nan,nan",
}
OVERLOADED = {
    "T min(T,T)": _SMALLEST,
    "T max(T,T)": _LARGEST,
    "bool isnan(T)": "nan=1 inf=0 -inf=0 0=0 most=0 least=0",
    "bool isinf(T)": "nan=0 inf=1 -inf=1 0=0 most=0 least=0",
    "bool isfinite(T)": "nan=0 inf=0 -inf=0 -0=1 most=1 least=1",
    "bool signbit(T)": "-0=1 0=0 -inf=1 inf=0 -least=1 least=0",
}

# Words of float alone, by their full names.
INTRINSICS = {
    "float __saturatef(float)": "nan=0 -0=0 0=0 -1=0 -inf=0 0.25=0.25 1=1 2=1 inf=1 least=least",
    "float __fdividef(float,float)": "3,1.2e38=0 -3,-1.5e38=0 inf,1.2e38=nan -inf,-1.5e38=nan 1,0=inf -1,0=-inf "
    "0,0=nan inf,inf=nan 1,inf=0 inf,2=inf nan,1=nan 1,nan=nan",
    "float __frsqrt_rn(float)": "0=inf -0=-inf inf=0 -1=nan nan=nan",
    "float __sinf(float)": f"{_ODD} inf=nan -inf=nan least=0 -least=-0 1e-39=0",
    "float __tanf(float)": "least=0 -least=-0 1e-39=0",
    "float __cosf(float)": _COS,
    "float __tanhf(float)": f"{_ODD} inf=1 -inf=-1",
    **dict.fromkeys(["float __expf(float)", "float __exp10f(float)"], _EXP),
    **dict.fromkeys(["float __logf(float)", "float __log2f(float)", "float __log10f(float)"], _LOG),
}
_NANS = "nan,1=nan 1,nan=nan"
ARITHMETIC = {
    "add": f"1,inf=inf -1,-inf=-inf inf,inf=inf inf,-inf=nan -inf,inf=nan 0,0=0 -0,-0=-0 {_NANS}",
    "sub": f"inf,1=inf -inf,1=-inf 1,inf=-inf 1,-inf=inf inf,inf=nan -inf,-inf=nan inf,-inf=inf 0,-0=0 -0,0=-0 {_NANS}",
    "mul": f"2,inf=inf -2,inf=-inf 0,inf=nan -0,-inf=nan 0,3=0 -0,3=-0 -0,-3=0 0,-3=-0 {_NANS}",
    "div": "0,0=nan -0,0=nan inf,inf=nan 3,inf=0 -3,inf=-0 inf,-2=-inf 3,0=inf 3,-0=-inf -3,0=-inf 0,3=0 -0,3=-0 "
    + _NANS,
    "rcp": "0=inf -0=-inf inf=0 -inf=-0 nan=nan",
    "sqrt": "0=0 -0=-0 inf=inf -1=nan -inf=nan nan=nan",
    "ma": _FMA,
}
# A sum that is exactly 0 has the sign of the direction.
CANCELLED = {"add": "1,-1={0} 0,-0={0} -0,0={0}", "sub": "1,1={0} 0,0={0} -0,-0={0}", "ma": "1,1,-1={0} 0,1,-0={0}"}

_CHOSEN = "-0,0={0} 0,-0={0} -2,3={1} {2}"
_NAN_LOSES, _NAN_WINS = "nan,1=1 1,nan=1 nan,nan=nan", "nan,1=nan 1,nan=nan nan,nan=nan"
_UNORDERED = "nan,1={0} 1,nan={0} nan,nan={0} inf,inf={1} -inf,inf={2} 0,-0={1}"
SIXTEEN = {
    "T __habs(T)": "0=0 -0=0 inf=inf -inf=inf nan=nan -least=least",
    "T __hneg(T)": "0=-0 -0=0 inf=-inf -inf=inf nan=nan",
    "T __hmax(T,T)": _CHOSEN.format("0", "3", _NAN_LOSES),
    "T __hmin(T,T)": _CHOSEN.format("-0", "-2", _NAN_LOSES),
    "T __hmax_nan(T,T)": _CHOSEN.format("0", "3", _NAN_WINS),
    "T __hmin_nan(T,T)": _CHOSEN.format("-0", "-2", _NAN_WINS),
    "T __hadd_sat(T,T)": "nan,1=0 inf,-inf=0 inf,1=1 -inf,1=0 0.25,0.5=0.75 most,most=1",
    "T __hsub_sat(T,T)": "nan,1=0 inf,inf=0 inf,1=1 1,inf=0 1,0.5=0.5",
    "T __hmul_sat(T,T)": "nan,1=0 0,inf=0 inf,2=1 -2,2=0 0.5,0.5=0.25",
    "T __hfma_sat(T,T,T)": "nan,1,1=0 inf,0,1=0 inf,1,-inf=0 2,2,2=1 -2,2,2=0 0.5,0.5,0.5=0.75",
    "T __hfma_relu(T,T,T)": "nan,1,1=nan inf,0,1=nan -inf,1,1=0 inf,1,1=inf -2,2,2=0 2,2,2=6",
    "bool __hisnan(T)": "nan=1 inf=0 -inf=0 0=0 most=0",
    "int __hisinf(T)": "inf=1 -inf=-1 nan=0 0=0 most=0",
    **{f"bool __h{name}(T,T)": _UNORDERED.format(0, *row) for name, row in {
        "eq": (1, 0), "ne": (0, 1), "lt": (0, 1), "le": (1, 1), "gt": (0, 0), "ge": (1, 0)}.items()},
    **{f"bool __h{name}u(T,T)": _UNORDERED.format(1, *row) for name, row in {
        "eq": (1, 0), "ne": (0, 1), "lt": (0, 1), "le": (1, 1), "gt": (0, 0), "ge": (1, 0)}.items()},
    **dict.fromkeys(["T htrunc(T)", "T hceil(T)", "T hfloor(T)"], _WHOLE),
    "T hrint(T)": f"{_WHOLE} 0.5=0 1.5=2 2.5=2 -2.5=-2",
    "T hsqrt(T)": "inf=inf 0=0 -0=-0 -1=nan nan=nan",
    "T hrsqrt(T)": "0=inf -0=-inf inf=0 -1=nan nan=nan",
    "T hrcp(T)": "0=inf -0=-inf inf=0 -inf=-0 nan=nan",
    **dict.fromkeys(["T hlog(T)", "T hlog2(T)", "T hlog10(T)"], _LOG),
    **dict.fromkeys(["T hexp(T)", "T hexp2(T)", "T hexp10(T)"], _EXP),
    **dict.fromkeys(["T htanh(T)", "T htanh_approx(T)"], f"{_ODD} inf=1 -inf=-1"),
    "T hsin(T)": f"{_ODD} inf=nan -inf=nan",
    "T hcos(T)": _COS,
}  # fmt: skip


def _of_type(table: dict[str, str], kind: str, suffix: str = "") -> list[EdgeWord]:
    """The words of a table for one type; ``suffix`` follows their names."""
    found = []
    for signature, rows in table.items():
        named = re.sub(r"(\w+)\(", rf"\1{suffix}(", signature, count=1)
        found.append(edge_word(re.sub(r"\bT\b", kind, named), rows))
    return found


def _arithmetic(kind: str, prefix: str) -> list[EdgeWord]:
    found = []
    for name, rows in ARITHMETIC.items():
        word = f"__fma{'f' if kind == 'float' else ''}" if name == "ma" else f"__{prefix}{name}"
        count = rows.partition("=")[0].count(",") + 1
        for mode in ("rn", "rz", "ru", "rd"):
            zero = CANCELLED.get(name, "").format("-0" if mode == "rd" else "0")
            found.append(edge_word(f"{kind} {word}_{mode}({','.join([kind] * count)})", f"{rows} {zero}"))
    return found


FLOAT = [
    *_of_type(MATHEMATICS, "float", "f"),
    *_of_type(OVERLOADED, "float"),
    *_of_type(INTRINSICS, "float"),
    *_arithmetic("float", "f"),
]
DOUBLE = [*_of_type(MATHEMATICS, "double"), *_of_type(OVERLOADED, "double"), *_arithmetic("double", "d")]
HALF = _of_type(SIXTEEN, "__half")
BFLOAT16 = _of_type(SIXTEEN, "__nv_bfloat16")
