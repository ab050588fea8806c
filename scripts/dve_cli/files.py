"""Reading and writing files, with errors for the user and never half a file."""

import os
from pathlib import Path

from dve_cli.errors import UserError


def read_bytes(path: Path) -> bytes:
    """The whole file.

    Raises
    ------
    UserError
        If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file as a whole: whatever happens, the old or the new content is there.

    Devices and pipes, which cannot be replaced, are written to directly.

    Raises
    ------
    UserError
        If it cannot be written.
    """
    target = path.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
