"""Overrides of a configuration: ``a.b=value`` each, as typed on a command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from warpworld.config.algorithm_settings import algorithms_of, drop_settings_of_former
from warpworld.config.documents import Document, known
from warpworld.config.short_keys import with_full_keys
from warpworld.config.source import read_source
from warpworld.errors import ConfigError, suggest


def full_overrides(source: str | Path, overrides: Iterable[str]) -> list[str]:
    """The overrides of a configuration with every key in full; arguments and errors as ``load_config``'s."""
    document, folder = read_source(source)
    return with_full_keys(document, overrides, folder)


def apply_overrides(document: Document, overrides: Iterable[str], folder: Path) -> None:
    """Write overrides over a document; settings of an algorithm that they replace go.

    Args:
        document: what was read.
        overrides: ``a.b=value`` each.
        folder: files named in the document are relative to it.

    Raises:
        ConfigError: an override names no key, or a policy that is not there.
    """
    former = algorithms_of(document)
    for text in with_full_keys(document, overrides, folder):
        _refuse_new_policy(document, text)
        document.override(text)
    drop_settings_of_former(document, former)


def _refuse_new_policy(document: Document, text: str) -> None:
    """A misspelt policy name in an override would make a new policy; say so before it does."""
    path = [key.strip() for key in text.partition("=")[0].split(".")]
    policies = document.data.get("policy")
    if len(path) > 2 and path[0] == "policy" and isinstance(policies, dict) and path[1] not in policies:
        hint = suggest(path[1], policies)
        raise ConfigError(f"command line, {text}: no policy '{path[1]}' in {document.source}.{hint} {known(policies)}")
