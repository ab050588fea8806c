"""Finding out before the long part what could not be written after it."""

import os
from pathlib import Path

from dve_cli.errors import UserError


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be created.

    Raises
    ------
    UserError
        If its directory is missing or not writable, or if it is a directory.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UserError(f"cannot write {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory")
    if not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {path}: no permission to write in {path.parent}")
