"""Reading and writing ``.npz`` files of plain arrays."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dve_cli.errors import UserError
from dve_cli.files import read_bytes

_MEND = "; numpy.savez writes one, of arrays without Python objects"


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file by name.

    Raises
    ------
    UserError
        If it cannot be read, or is not such a file.
    """
    data = read_bytes(path)
    try:
        with np.load(io.BytesIO(data)) as archive:
            arrays = dict(archive)
    except (
        ValueError,  # pickled objects, or text
        TypeError,  # a lone .npy
        AttributeError,
        EOFError,
        KeyError,
        MemoryError,  # a header that claims more than there is
        NotImplementedError,
        OSError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise UserError(f"{path} is not an .npz file of plain arrays{_MEND}") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # a member that is no .npy comes as its bytes
            raise UserError(f"{path}: {name} is not an array{_MEND}")
    return arrays


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """An ``.npz`` file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
