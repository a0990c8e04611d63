"""Another commit of a repository, checked out beside it for a while."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from warpworld.errors import RunError, suggest
from warpworld.trainers.session import sigterm_raises

ENDED_BY_SIGTERM = 128 + signal.SIGTERM  # the exit status, as of all programs


@dataclass(frozen=True)
class Checkout:
    """A commit that is checked out.

    Attributes:
        top: its folder.
        folder: that corresponds to the folder of the repository that was asked for.
        commit: its whole hash.
    """

    top: Path
    folder: Path
    commit: str


@contextmanager
def checked_out(commit: str, inside: Path) -> Iterator[Checkout]:
    """A checkout of a commit in a temporary folder, which is removed afterwards, and on SIGTERM.

    Args:
        commit: a hash, branch or tag, or such as "HEAD~3".
        inside: a folder of the repository.

    Raises:
        RunError: it is in no repository, or there is no such commit.
    """
    top = Path(_git(inside, "rev-parse", "--show-toplevel", why=f"{inside} is in no git repository"))
    names = _git(top, "for-each-ref", "--format=%(refname:short)").split()
    why = f"no commit '{commit}' in {top}.{suggest(commit, names)}"
    whole = _git(top, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", why=why)
    leaving = sigterm_raises(lambda: SystemExit(ENDED_BY_SIGTERM))
    with leaving, tempfile.TemporaryDirectory(prefix="warpworld-bench-") as folder:
        tree = Path(folder).resolve() / "tree"
        try:
            _git(top, "worktree", "add", "--detach", "--quiet", str(tree), whole)
            yield Checkout(tree, tree / inside.resolve().relative_to(top.resolve()), whole)
        finally:
            with suppress(RunError):  # where it was not added, which is the error to report
                # --force twice: git may have been stopped while it was adding
                _git(top, "worktree", "remove", "--force", "--force", str(tree))


def _git(folder: Path, *words: str, why: str = "") -> str:
    """Output of git, without its last line's end.

    Raises:
        RunError: it fails; ``why`` is the message, or what git says.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(["git", *words], cwd=folder, stdout=pipe, stderr=pipe, text=True)
    except OSError as error:
        raise RunError(f"git cannot be run: {error}") from error
    with process:  # on a signal git is waited for, not killed: it would leave half a checkout
        output, errors = process.communicate()
    if process.returncode:
        raise RunError(why or f"git {words[0]}: {errors.strip()}")
    return output.rstrip("\n")
