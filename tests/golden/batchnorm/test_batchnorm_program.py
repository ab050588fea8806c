"""The instructions and images of a step, and the space they use."""

import numpy as np
import pytest
from dve_golden.batchnorm.coefficients import Coefficients, host_coefficients
from dve_golden.batchnorm.layout import OPERANDS, SUMS, Image, Layout, tiles
from dve_golden.batchnorm.program import Tile, back_prop, grad_accumulate, param_load
from dve_golden.batchnorm.step import Step, join, merge
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import Dtype, Opcode


def tile(dtype=Dtype.FP32, channels=2, count=5):
    layout = Layout.fit(dtype, count, 1024)
    x = np.arange(channels * count, dtype=np.float32).reshape(channels, count)
    return Tile(layout, x, -x)


@pytest.mark.parametrize("dtype", [Dtype.FP32, Dtype.BF16, Dtype.FP16])
@pytest.mark.parametrize("sbuf_bytes", [256, 1024, 1000, 64 * 1024])
def test_layout_fills_the_partition_with_aligned_operands(dtype, sbuf_bytes):
    layout = Layout.fit(dtype, 1 << 20, sbuf_bytes)
    end = layout.d_x + layout.operand_bytes
    assert end <= sbuf_bytes < end + 3 * layout.operand_bytes // layout.tile_elements * 8
    assert layout.tile_elements % 8 == 0
    assert {start % 8 for start in (layout.x, layout.dy, layout.d_x)} == {0}
    assert layout.x == OPERANDS >= SUMS + 12


def test_layout_takes_no_more_than_it_needs():
    assert Layout.fit(Dtype.FP32, 13, 64 * 1024).tile_elements == 16


def test_tiles_cover_everything_once():
    assert list(tiles(10, 4)) == [slice(0, 4), slice(4, 8), slice(8, 10)]


def test_grad_accumulate_points_at_its_images():
    step = grad_accumulate(tile(), np.array([3, 4], np.float32), np.array([5, 6], np.float32))
    opcode, fields = decode(step.program)
    sbuf = np.full((128, 1024), 0xAA, np.uint8)
    for image in step.images:
        image.place(sbuf)
    for name, column in (("imm0", [3, 4]), ("imm1", [5, 6])):
        start = fields[name]
        assert isinstance(start, int)
        assert sbuf[:2, start : start + 4].copy().view("<f4").ravel().tolist() == column
    source = fields["src1.start_addr"]
    assert isinstance(source, int)
    assert sbuf[1, source : source + 20].copy().view("<f4").tolist() == [-5, -6, -7, -8, -9]
    assert opcode == Opcode.BATCH_NORM_GRAD_ACCUMULATE2
    assert fields["src0.num_elem"] == fields["src1.num_elem"] == (5, 1, 1)
    assert fields["num_active_channels"] == 2
    assert step.elements == 10
    assert (sbuf[2:] == 0xAA).all()


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16])
def test_operands_and_result_share_the_storage_format(dtype):
    _, reduce = decode(
        grad_accumulate(
            tile(dtype), np.array([0, 0], np.float32), np.array([1, 1], np.float32)
        ).program
    )
    _, apply = decode(back_prop(tile(dtype)).program)
    for fields in (reduce, apply):
        assert fields["in0_in1_dtype.lo"] == fields["in0_in1_dtype.hi"] == dtype
    assert apply["out_dtype"] == dtype
    assert reduce["immediate_out_dtype.lo"] == reduce["immediate_out_dtype.hi"] == Dtype.FP32


def test_join_keeps_the_order():
    ones = np.ones(2, np.float32)
    load = param_load(2, 5, Coefficients(ones, ones, ones, ones, ones))
    apply = back_prop(tile())
    both = join(load, apply)
    assert both.program == load.program + apply.program
    assert both.images == load.images + apply.images
    assert (load.elements, both.elements) == (0, 10)


def test_merge_joins_steps_that_place_different_bytes():
    ones = np.ones(2, np.float32)
    reduce = grad_accumulate(tile(), ones, ones)
    load = param_load(2, 5, Coefficients(ones, ones, ones, ones, ones))
    apply = back_prop(tile(), in_place=True)
    assert list(merge([reduce, join(load, apply)])) == [join(reduce, load, apply)]
    again = back_prop(tile())
    assert list(merge([reduce, again, apply])) == [reduce, join(again, apply)]
    assert list(merge([])) == []


def test_merge_keeps_what_an_earlier_program_still_needs():
    """Its operands were placed before the steps that are joined, or are read after them."""
    needs = Step((), bytes(64), 0, (range(64, 128),))
    image = back_prop(tile()).images[0]
    assert image.span.start == 64
    places = Step((image,), bytes(64), 0)
    apart = Step((Image(128, image.data),), bytes(64), 0)
    assert list(merge([needs, places])) == [needs, places]
    assert list(merge([needs, apart])) == [join(needs, apart)]


def test_coefficients_follow_the_formulas():
    """batchnorm.md sections 8 and 9, with numbers that round nowhere."""
    sums = np.array([[8.0, 6.0, 2.0]])
    inv_std, gamma = np.array([0.5], np.float32), np.array([3], np.float32)
    one = host_coefficients(sums, 4, inv_std, gamma)
    assert [part.item() for part in one] == [1.5, 8 - 2 * 0.5, 1.0, 6 - 0.5 * 8, 8.0]
    plain = host_coefficients(
        sums, 4, np.array([0.5], np.float32), np.array([3], np.float32), mean_coupling=False
    )
    assert [part.item() for part in plain] == [1.5, 8.0, 3.0, 6.0, 8.0]


def test_coefficients_are_rounded_once():
    """D rounds to 1 in binary32, and C would be 1.5; in float64 the product is above the tie."""
    sums = np.array([[0.0, 1 + 3 * 2.0**-26, 0.0]])
    part = host_coefficients(sums, 4, np.array([1.5], np.float32), np.array([1], np.float32))
    assert part.d_gamma.item() == 1.0
    assert part.c.item() == 1.5 + 2.0**-23
