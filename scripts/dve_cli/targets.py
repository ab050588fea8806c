"""Finding out before the long part what could not, or should not, be written after it."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from dve_cli.errors import UserError


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be created.

    Raises
    ------
    UserError
        If its directory is missing or not writable, or if it is a directory.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory")
    if _is_device(path):
        if not os.access(path, os.W_OK):
            raise UserError(f"cannot write {path}: no permission")
        return
    folder = path.resolve().parent  # a link stays a link: the file is where it leads
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
    read = {path.resolve() for path in inputs if path is not None}
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        require_writable(path)
        if _is_device(path):
            continue
        target = path.resolve()
        if target in read:
            raise UserError(f"{option} {path} would replace an input; name another file")
        if target in taken:
            raise UserError(f"{taken[target]} and {option} both name {path}; name two files")
        taken[target] = option


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
