"""The C types that kernels take, and the dtypes of the store that they stand for."""

from __future__ import annotations

_SCALARS = {
    "bool": ("bool",),
    "int8": ("int8_t", "signed char"),
    "uint8": ("uint8_t", "unsigned char"),
    "int16": ("int16_t", "short"),
    "uint16": ("uint16_t", "unsigned short"),
    "int32": ("int32_t", "int", "signed"),
    "uint32": ("uint32_t", "unsigned int", "unsigned"),
    "int64": ("int64_t", "long long", "long"),
    "uint64": ("uint64_t", "unsigned long long", "unsigned long", "size_t"),
    "float16": ("__half", "half"),
    "float32": ("float",),
    "float64": ("double",),
}
_VECTORS = {
    **{"char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32"},
    **{"long": "int64", "longlong": "int64", "ulong": "uint64", "ulonglong": "uint64"},
    **{"float": "float32", "double": "float64"},
}

# C type in the spelling that canonical_type gives -> (dtype, components)
C_TYPES: dict[str, tuple[str, int]] = {name: (dtype, 1) for dtype, names in _SCALARS.items() for name in names}
C_TYPES |= {f"{name}{n}": (dtype, n) for name, dtype in _VECTORS.items() for n in (2, 3, 4)}
C_TYPES |= {"__half2": ("float16", 2), "half2": ("float16", 2)}

# dtype -> C type, for messages that tell an author what to write
C_NAMES = {dtype: names[0] for dtype, names in _SCALARS.items()} | {
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
}

_INTEGER_WORDS = ("signed", "unsigned", "char", "short", "long", "int")


def canonical_type(words: list[str]) -> str:
    """Return one spelling for a type: C++ allows its words in any order, and "int" beside "long"."""
    if not words or any(word not in _INTEGER_WORDS for word in words):
        return " ".join(words).removeprefix("std::").removeprefix("::std::").removeprefix("::")
    kind = next((word for word in ("char", "short") if word in words), "long " * words.count("long") or "int").strip()
    if "unsigned" in words:
        return f"unsigned {kind}"
    return "signed char" if kind == "char" and "signed" in words else kind
