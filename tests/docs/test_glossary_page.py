"""docs/glossary.md: its terms are in order, and other pages use them."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, page

TERMS = re.findall(r"^- \*\*([^*]+)\*\*: ", page("glossary"), re.MULTILINE)
OTHERS = "\n".join(page(path.stem) for path in DOCS.glob("*.md") if path.stem != "glossary")


def test_terms_are_in_alphabetical_order() -> None:
    assert len(TERMS) > 50
    assert sorted(TERMS) == TERMS


@pytest.mark.parametrize("term", TERMS)
def test_another_page_uses_the_term(term: str) -> None:
    stem = re.sub("(y|um)$", "", term)  # boundaries, curricula
    name = term.replace(" ", "_")  # of an array, such as agent_mask
    assert re.search(rf"\b{stem}", OTHERS, re.IGNORECASE) or name in OTHERS
