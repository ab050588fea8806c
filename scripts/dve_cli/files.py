"""Reading and writing files, with errors for the user and never half a file."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

from dve_cli.errors import UserError
from dve_cli.targets import real, require_writable

MOST_BYTES = 1 << 30
"""Of a file that is read as a whole; a device such as /dev/zero has no end."""

CHUNK_BYTES = 1 << 20


def read_bytes(path: Path) -> bytes:
    """The whole file.

    Raises
    ------
    UserError
        If it cannot be read, or is larger than `MOST_BYTES`.
    """
    chunks, total = [], 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                chunks.append(chunk)
                total += len(chunk)
                if total > MOST_BYTES:
                    raise UserError(f"cannot read {path}: it has more than {MOST_BYTES} bytes")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    return b"".join(chunks)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file as a whole; see `write_together`."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Replace files as wholes: on any error all of them still have their old content.

    Everything is on the disk under temporary names before the first file is replaced. A file keeps
    its permissions. Devices and pipes, which cannot be replaced, are written to directly.

    Raises
    ------
    UserError
        Naming the file that cannot be written.
    """
    temporaries: dict[Path, Path] = {}
    try:
        for number, (path, data) in enumerate(files.items()):
            require_writable(path)
            with _explained(path):
                target = real(path)  # a link stays a link
                if target.exists() and not target.is_file():
                    target.write_bytes(data)
                    continue
                # Not made of the target's name, which may be as long as names can be.
                temporary = target.with_name(f".dve-{os.getpid()}-{number}.tmp")
                with temporary.open("xb") as file:
                    temporaries[path] = temporary
                    if target.exists():
                        os.fchmod(file.fileno(), S_IMODE(target.stat().st_mode))
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
        for path, temporary in temporaries.items():
            with _explained(path):
                temporary.replace(real(path))
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:  # the directory is there, but it is no ordinary one
        message = f"cannot write {path}: no file can be made in {path.parent}"
        raise UserError(message) from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
