"""Reading and writing files, with errors for the user and never half a file."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    """Replace a file as a whole; see `write_together`."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Replace files as wholes: on any error all of them still have their old content.

    Everything is on the disk under temporary names before the first file is replaced. Devices and
    pipes, which cannot be replaced, are written to directly.

    Raises
    ------
    UserError
        Naming the file that cannot be written.
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            with _explained(path):
                target = path.resolve()  # a link stays a link
                if target.exists() and not target.is_file():
                    target.write_bytes(data)
                    continue
                temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
                with temporary.open("xb") as file:
                    temporaries[path] = temporary
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
        for path, temporary in temporaries.items():
            with _explained(path):
                temporary.replace(path.resolve())
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"cannot write {path}: there is no directory {path.parent}") from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
