"""Reading and writing ``.npz`` files of plain arrays."""

import io
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from dve_cli.errors import UserError

_MEND = "; numpy.savez writes one, of arrays without Python objects"

Wanted = Callable[[str, np.dtype, tuple[int, ...]], bool]
"""Told name, type and shape of an array before its data is read: whether to read it. It raises
`UserError` if there should be no such array."""


def wanted_all(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
    """For files whose arrays may be of any kind."""
    return True


def read_arrays(path: Path, wanted: Wanted = wanted_all) -> dict[str, np.ndarray]:
    """The wanted arrays of an ``.npz`` file by name.

    Raises
    ------
    UserError
        If it cannot be read, is not such a file, or holds what ``wanted`` refuses.
    """
    arrays = {}
    with _opened(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                header = _header(file)
                if name == member.filename or header is None:
                    raise UserError(f"{path}: {name} is not an array{_MEND}")
                shape, dtype = header
                size = file.tell() + dtype.itemsize * math.prod(shape)
            if dtype.hasobject or min(shape, default=0) < 0 or size != member.file_size:
                raise ValueError("what the header says is not what follows")
            if wanted(name, dtype, shape):
                with archive.open(member) as file:
                    arrays[name] = npy.read_array(file, allow_pickle=False)
    return arrays


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """An ``.npz`` file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        with file, zipfile.ZipFile(file) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a file was made by Python 2
            yield archive
    except (
        ValueError,
        EOFError,
        OSError,
        RuntimeError,  # encrypted, or compressed in a way that is not known
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise UserError(f"{path} is not an .npz file of plain arrays{_MEND}") from error


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype] | None:
    """Shape and type of the array that a member holds; None if it holds none."""
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        version = npy.read_magic(file)
    except ValueError:
        return None
    if version not in read_header:
        return None
    try:
        shape, _, dtype = read_header[version](file)
    # What Python's parser and numpy's second attempt say of a text that is no literal; MemoryError
    # is a text that nests too deeply.
    except (MemoryError, SyntaxError, tokenize.TokenError):
        return None
    return shape, dtype
