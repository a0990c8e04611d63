"""Names near to one that was given, for messages: of the same words, or of words that differ by a slip."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_SLIP = 0.8  # least ratio of two words of which one is the other with a slip
_SLIPS = {3: 0.66, 4: 0.75}  # the same of words with one first letter, by the letters of the longer one; else the last
_JOINED = 0.85  # of names whose words are parted otherwise
_MOST = 0.6  # part of the longer name that a name must have where several fit, or where it has more words
_LEAST = 0.4  # the same of the only one that fits
_PREFIX = 3  # letters of a word that stand for all of it


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to ``name``, or None if none is near.

    Near are names that differ in case and signs, in the order of their words, in a number, or by a slip within words of
    several letters, so that ``loc_y`` is not near to ``loc_x``. A name that lacks words, or has the first letters of
    words, is near to the only one that it can stand for.
    """
    names = list(dict.fromkeys(candidates))
    slips = [(score, each) for each in names if (score := _likeness(name, each))]
    if slips:
        return max(slips, key=lambda pair: pair[0])[1]
    shares = [(share, each) for each in names if (share := _share(name, each))]
    least = _LEAST if len(shares) == 1 else _MOST
    fits = [(share, each) for share, each in shares if share >= least]
    fits += [(share, each) for each in names if (share := _share(each, name)) >= _MOST]
    return max(fits, key=lambda pair: pair[0])[1] if fits else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _likeness(name: str, other: str) -> float:
    """Likeness of two names of as many words, or of the same letters; 0 if they are not near, else at most 1."""
    own, words = _words(name), _words(other)
    joined, whole = "".join(own), "".join(words)
    if joined == whole or sorted(own) == sorted(words):
        return 1.0 if joined else 0.0
    if len(own) == len(words):
        is_near = all(_is_slip(one, another) for one, another in zip(own, words, strict=True))
    else:
        is_near = _ratio(joined, whole) >= _JOINED
    return _ratio(joined, whole) if is_near else 0.0


def _is_slip(word: str, other: str) -> bool:
    """Whether a word is another, written with a slip; numbers may be any."""
    if word == other or (word.isdigit() and other.isdigit()):
        return True
    short, long = sorted((word, other), key=len)
    if len(long) == len(short) + 1 and long.startswith(short):
        return True
    ratio, letters = _ratio(word, other), len(long)
    return ratio >= _SLIP or (word[0] == other[0] and letters > 2 and ratio >= _SLIPS.get(letters, _SLIPS[4]))


def _share(short: str, long: str) -> float:
    """Part of the longer name's letters that a shorter one has, each of whose words begins one of its words, in order.

    A name that has the beginnings of all words, such as ``ent_coef``, counts as having enough of them.
    """
    own, words = _words(short), _words(long)
    left = iter(words)
    if not own or not all(any(_stands_for(word, each) for each in left) for word in own):
        return 0.0
    share = len("".join(own)) / len("".join(words))
    return max(share, _LEAST) if len(own) == len(words) else share


def _stands_for(word: str, other: str) -> bool:
    return (len(word) >= _PREFIX and other.startswith(word)) or _is_slip(word, other)


def _ratio(one: str, another: str) -> float:
    return difflib.SequenceMatcher(None, one, another).ratio()
