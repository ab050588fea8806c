"""Views against numpy's own indexing and broadcasting, element by element."""

import numpy as np
import pytest
from dve_golden.isa.enums import Dtype
from dve_golden.program import ProgramBuilder

SHAPE = (3, 4, 5)


def both():
    """A tensor's view and the array that numbers its elements."""
    tensor = ProgramBuilder().sbuf("t", 7, SHAPE, Dtype.BF16)
    return tensor.view, np.arange(60).reshape(SHAPE)


def visited(view):
    """Elements in the order of the walk, by the formula of isa_common.md 4.3."""
    offsets = [view.start]
    for count, step in view.walk():
        offsets = [offset + index * step for index in range(count) for offset in offsets]
    return offsets


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:],
        np.s_[1],
        np.s_[-1, :, 2],
        np.s_[:, 1:3],
        np.s_[::2, ::3, ::-1],
        np.s_[2, 3, 4],
        np.s_[None, 1, None, :, 1:2],
        np.s_[:, ::-1, 1:5:2],
        np.s_[::-2, 0],
        np.s_[...],
        np.s_[..., 1],
        np.s_[1, ..., ::2],
        np.s_[0, 1, ..., 2],
        np.s_[None, ..., None],
        np.int16(2),
    ],
    ids=str,
)
def test_indexing_is_numpys(index):
    view, array = both()
    assert view[index].shape == array[index].shape
    assert visited(view[index]) == array[index].ravel().tolist()


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        (np.s_[:], (2, 3, 4, 5)),
        (np.s_[1, :, 0], (6, 4)),
        (np.s_[:, 0:1, :], (3, 4, 5)),
        (np.s_[0, 0, 0], (2, 3)),
        (np.s_[:, 1, None], (3, 9, 5)),
    ],
    ids=str,
)
def test_broadcasting_is_numpys(index, shape):
    view, array = both()
    got = view[index].broadcast_to(shape)
    assert got.shape == shape
    assert visited(got) == np.broadcast_to(array[index], shape).ravel().tolist()


def test_elements_are_those_of_the_walk():
    view, array = both()
    numbers = np.arange(60)
    for index in (np.s_[:], np.s_[1, ::2], np.s_[:, 1, 2], np.s_[::-1, 1], np.s_[0, 0, 1]):
        found = numbers[view[index].elements()]
        assert sorted(found.ravel().tolist()) == sorted(array[index].ravel().tolist())


def test_walks_have_as_few_dimensions_as_possible():
    view, _ = both()
    assert len(view.walk()) == 1
    assert len(view[:, 1:3].walk()) == 2
    assert len(view[:, :, 1:3].walk()) == 2
    assert len(view[:, 1:3, 1:3].walk()) == 3
    assert len(view[0, 0, 0].broadcast_to((2, 3, 4, 5)).walk()) == 1
    assert view[1, 2, 3].walk() == ((1, 1),)


def test_bad_indices():
    view, _ = both()
    with pytest.raises(IndexError, match="t has 3 dimensions"):
        view[0, 0, 0, 0]
    with pytest.raises(IndexError, match="index 5 is out of range for 5"):
        view[0, 0, 5]
    with pytest.raises(IndexError, match=r"at most one \.\.\., got 2"):
        view[..., 0, ...]
    for neither in (True, np.True_, 1.0, "0", [0]):
        with pytest.raises(IndexError, match="t: an index is an integer, a slice"):
            view[neither]  # pyright: ignore[reportArgumentType]
    with pytest.raises(IndexError, match="t has 3 dimensions"):
        view[0, 0, ..., 0, 0]
    with pytest.raises(IndexError, match="selects nothing"):
        view[2:2]
    with pytest.raises(ValueError, match=r"t: shape \(3, 4, 5\) does not broadcast to \(3, 5\)"):
        view.broadcast_to((3, 5))
    with pytest.raises(ValueError, match="t has 7 channels, not 8"):
        view.on(8)
