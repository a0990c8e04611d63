"""tools/site: pages are made of notebooks and of linked code, and faults of built pages are found."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbconvert", reason="no nbconvert here: make docs installs it")

import nbformat

from tools.site.__main__ import build
from tools.site.built import faults
from tools.site.files import read_files, write_files
from tools.site.llms import with_llms
from tools.site.notebooks import with_notebooks
from tools.site.sources import with_sources

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
CONFIG = """
site_name: a site
site_description: about it
nav: [{Home: [index.md]}]
docs_dir: build/site-docs
use_directory_urls: false
theme: {name: material, font: FONT}
markdown_extensions: [toc: {slugify: {object: pymdownx.slugs.slugify, kwds: {case: lower}}}]
"""


def notebook(*cells: object) -> bytes:
    return str(nbformat.writes(nbformat.v4.new_notebook(cells=cells))).encode()


def test_a_notebook_becomes_a_page_with_its_pictures_and_a_download() -> None:
    drawn = nbformat.v4.new_output("display_data", {"image/png": DOT})
    cells = [
        nbformat.v4.new_markdown_cell("# One\n\n[next](2.ipynb#a)"),
        nbformat.v4.new_code_cell("draw()", outputs=[drawn]),
    ]
    made = with_notebooks({"t/1.ipynb": notebook(*cells), "index.md": b"[one](t/1.ipynb)"})
    assert made["t/1.md"].decode().startswith("# One\n\n[Download this notebook](1.ipynb)\n\n[next](2.md#a)")
    assert [name for name in made if name.endswith(".png") and f"({name[2:]})" in made["t/1.md"].decode()]
    assert made["index.md"] == b"[one](t/1.md)"
    assert "t/1.ipynb" in made


def test_links_to_code_lead_to_pages_that_show_it(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text('"""Adds | numbers.\n\nMore."""\n')
    page = b"[a](../../code/a.py#L1) [b](../../code) [c](../../none.py) [d](../index.md)"
    made = with_sources({"t/page.md": page, "index.md": b""}, tmp_path)
    shown = "[a](../source/code/a.py.md) [b](../source/code.md) [c](../../none.py) [d](../index.md)"
    assert made["t/page.md"].decode() == shown
    assert b"``````python\n" in made["source/code/a.py.md"]
    assert b"| `a.py` | Adds \\| numbers. |" in made["source/code.md"]


def test_the_prepared_folder_holds_these_files_alone_and_keeps_the_times_of_equal_ones(tmp_path: Path) -> None:
    write_files({"a/b.md": b"1", "c.md": b"2"}, tmp_path)
    time = (tmp_path / "a" / "b.md").stat().st_mtime_ns
    write_files({"a/b.md": b"1", "d.md": b"3"}, tmp_path)
    assert read_files(tmp_path) == {"a/b.md": b"1", "d.md": b"3"}
    assert (tmp_path / "a" / "b.md").stat().st_mtime_ns == time


@pytest.mark.parametrize(
    ("element", "fault"),
    [
        ('<a href="https://warpworld.example">', None),
        ('<a href="#here">', None),
        ('<a href="b%20c.html?q=1#x">', None),
        ('<img alt="x" src="data:image/png;base64,AA">', None),
        ('<img src="none.png">', "leads to none.png, which is not there: mend the link in the page's source"),
        ('<a class="x" href="../none">', "leads to ../none, which is not there: mend the link in the page's source"),
        *(
            (f"<{name}{address}>", f"loads {where}: a page of the site must load nothing from a network")
            for name, address, where in (
                ("script", " src=https://x.example/a.js", "https://x.example/a.js"),
                ("link", ' rel="stylesheet" href="//x.example/a.css"', "//x.example/a.css"),
                ("iframe", ' src="http://x.example"', "http://x.example"),
            )
        ),
    ],
)
def test_what_a_built_page_must_not_do_is_found(element: str, fault: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(element)
    (tmp_path / "b c.html").write_text("")
    assert faults(tmp_path) == ([f"a.html {fault}"] if fault else [])


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "font", "fault"),
    [
        ("[a](#a-b-c)", "false", ""),
        ("[a](#a-b-d)", "false", "anchor does not exist"),
        ("[a](none.md)", "false", "page does not exist"),
        ("![a](none.png)", "false", "index.html leads to none.png, which is not there"),
        ("[a](../none.py)", "false", "index.html leads to ../none.py, which is not there"),
        ("a", "{text: Roboto}", "index.html loads https://fonts.gstatic.com"),
    ],
)
def test_a_build_fails_at_a_fault(
    page: str, font: str, fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("zensical", reason="no zensical here: make docs installs it")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A `b`, c\n\n{page}\n")
    (tmp_path / "mkdocs.yml").write_text(CONFIG.replace("FONT", font))
    assert build(tmp_path) == (1 if fault else 0)
    assert fault in "".join(capfd.readouterr())


def test_pages_are_listed_with_their_first_sentences() -> None:
    nav = [{"Home": ["index.md", {"Guides": [{"A guide": "g/a.md"}]}]}]
    settings = {"site_name": "a site", "site_description": "about it", "nav": nav}
    pages = {
        "index.md": b"# Home\n\n```sh\nrun\n```\n\nSee [a guide](g/a.md), by A et al. It is\nlong. More.\n",
        "g/a.md": b"# `a`: guide\n\n![picture](a.png)\n\nNo. It is not. So.\n",
        "left-out.md": b"# Out\n",
    }
    assert with_llms(pages, settings)["llms.txt"].decode().splitlines() == [
        *("# a site", "", "> about it", "", "## Home", ""),
        "- [Home](index.html): See a guide, by A et al. It is long.",
        "- [`a`: guide](g/a.html): No. It is not.",
    ]
