"""What the ``open_page`` fixture is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from playwright.sync_api import Page


class OpenPage(Protocol):
    """Opens an address on a desk's screen or a phone's, light or dark; other options are those of a browser context."""

    def __call__(self, address: str, phone: bool = False, dark: bool = False, **options: Any) -> Page: ...
