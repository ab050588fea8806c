"""Finding out before the long part what could not, or should not, be written after it."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dve_cli.errors import UserError


def real(path: Path) -> Path:
    """Where a path leads, through links; a loop of links leads to itself."""
    return Path(os.path.realpath(path))


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be created or replaced.

    Raises
    ------
    UserError
        If it or its directory is not writable, its directory is missing, or it is a directory.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory")
    if _is_device(path):
        if not os.access(path, os.W_OK):
            raise UserError(f"cannot write {path}: no permission")
        return
    target = real(path)  # a link stays a link: the file is where it leads
    if target.is_symlink():
        raise UserError(f"cannot write {path}: it is a loop of links")
    if target.exists() and not os.access(target, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to change it")
    folder = target.parent
    if folder.exists() and not folder.is_dir():
        raise UserError(f"cannot write {path}: {path.parent} is not a directory")
    if not folder.is_dir():
        raise UserError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to write in {path.parent}")


def require_targets(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse outputs that cannot be created, that replace each other, or that replace an input.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        Option to file, None where the option is not given.
    inputs : iterable of Path or None
        Files that the command reads.

    Raises
    ------
    UserError
        Naming the option and the file.
    """
    read = {real(path) for path in inputs if path is not None}
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        require_writable(path)
        if _is_device(path):
            continue
        target = real(path)
        if target in read:
            raise UserError(f"{option} {path} would replace an input; name another file")
        if target in taken:
            raise UserError(f"{taken[target]} and {option} both name {path}; name two files")
        taken[target] = option


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
