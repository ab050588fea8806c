"""Directories built once and shared: atomic, locked across processes, bounded in size.

An entry is a directory. It is filled under a temporary name and renamed, so that a reader never
sees half of one, whatever kills the writer. A seal in it lists its files with their sizes: an entry
that lost some afterwards, to a power failure or to a user, is made anew. A lock file per entry lets
the workers of a parallel test run wait for the first instead of building the same thing.
"""

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dve_cosim.errors import CosimError


def cache_root() -> Path:
    """``$DVE_CACHE``, or ``opendve`` in the user's cache directory. Not created here."""
    if chosen := os.environ.get("DVE_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "opendve"


def cached(kind: str, key: str, fill: Callable[[Path], None], *, keep: int) -> Path:
    """The directory ``kind/key`` of the cache, filled by ``fill`` if it is not there or damaged.

    Parameters
    ----------
    kind : str
        Family of entries.
    key : str
        Everything the content depends on, hashed.
    fill : callable
        Called with an empty directory; an exception leaves no entry.
    keep : int
        Least recently used entries of the family beyond this number are removed.

    Raises
    ------
    CosimError
        If the cache cannot be written.
    """
    family = cache_root() / kind
    entry = family / key
    if not _is_whole(entry):
        try:
            family.mkdir(parents=True, exist_ok=True)
            with _lock(family / f"{key}.lock"):
                if not _is_whole(entry):
                    _fill(family, entry, fill)
                    _prune(family, keep, entry)
        except OSError as error:
            raise CosimError(
                f"cannot write the cache {family}: {error.strerror or error}; "
                "set DVE_CACHE to a directory with room"
            ) from error
    with suppress(OSError):  # a read-only cache still serves
        os.utime(entry)  # marks it as recently used
    return entry


def _fill(family: Path, entry: Path, fill: Callable[[Path], None]) -> None:
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=family))
    try:
        fill(draft)
        (draft / _SEAL).write_text(json.dumps(_sizes(draft)))
        if entry.exists():
            damaged = Path(tempfile.mkdtemp(prefix=".draft-", dir=family))
            entry.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        draft.rename(entry)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


_SEAL = ".complete"


def _sizes(folder: Path) -> dict[str, int]:
    """Bytes of each file below ``folder`` by its path in there, the seal left out."""
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.name != _SEAL
    }


def _is_whole(entry: Path) -> bool:
    """Whether every file that `fill` has made is there in its size; others may have come."""
    try:
        sealed = json.loads((entry / _SEAL).read_text())
        return all((entry / name).stat().st_size == size for name, size in sealed.items())
    except (OSError, ValueError):
        return False


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold an advisory lock; the kernel drops it when its holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_STALE_SECONDS = 24 * 3600
"""Age at which a draft has no writer any more."""


def _prune(family: Path, keep: int, newest: Path) -> None:
    for draft in family.glob(".draft-*"):  # of writers that were killed
        if time.time() - _mtime(draft) > _STALE_SECONDS:
            shutil.rmtree(draft, ignore_errors=True)
    entries = [
        path
        for path in family.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path != newest
    ]
    entries.sort(key=_mtime, reverse=True)
    for old in entries[max(keep - 1, 0) :]:
        shutil.rmtree(old, ignore_errors=True)
        (family / f"{old.name}.lock").unlink(missing_ok=True)


_KEPT_LOGS = 32


def log_file(name: str) -> Path:
    """A fresh file for the output of a tool, kept for the user if the tool fails.

    Raises
    ------
    CosimError
        If the cache cannot be written.
    """
    folder = cache_root() / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        older = sorted(folder.glob("*.log"), key=_mtime, reverse=True)
        for path in older[_KEPT_LOGS - 1 :]:
            path.unlink(missing_ok=True)
        path = folder / f"{name}.log"
        path.write_text("")
    except OSError as error:
        raise CosimError(
            f"cannot write {folder}: {error.strerror or error}; set DVE_CACHE to another directory"
        ) from error
    return path


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # removed by another process in the meantime
        return 0.0
