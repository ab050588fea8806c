"""Built programs: what they compute, what they refuse, and that their text is the program."""

from typing import Any

import numpy as np
import pytest
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import Dtype, Opcode, UpdateMode, WaitMode
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble
from dve_golden.machine import Machine
from dve_golden.memory.address import Region
from dve_golden.program import AllocationError, ProgramBuilder, ProgramError, Update, Wait


def given(b, name, channels, values, dtype=Dtype.FP32):
    """A tensor that holds ``values`` in each channel, and the machine's bytes for it."""
    values = np.asarray(values)
    tensor = b.sbuf(name, channels, values.shape, dtype)
    b.written_by_host(tensor)
    return tensor, values


def run(b, tensors, dtype="<f4"):
    machine = Machine(generation=b.geometry.generation)
    for tensor, values in tensors:
        raw = np.ascontiguousarray(values).view(np.uint8).ravel()
        machine.sbuf[: tensor.channels, tensor.offset : tensor.offset + raw.size] = raw
    assert {completion.reason for completion in machine.run(b.encode())} <= {0}
    return machine


def values_of(machine, tensor, dtype="<f4"):
    size = np.dtype(dtype).itemsize
    raw = machine.memory(tensor.region)[
        tensor.partition : tensor.partition + tensor.channels,
        tensor.offset : tensor.offset + size * tensor.size,
    ]
    return np.ascontiguousarray(raw).view(dtype).reshape(tensor.channels, *tensor.shape)


def test_tensor_tensor_broadcasts_and_slices():
    b = ProgramBuilder()
    matrix = given(b, "matrix", 3, np.arange(12, dtype=np.float32).reshape(3, 4))
    row = given(b, "row", 3, np.array([10, 20, 30, 40], np.float32))
    out = b.sbuf("out", 3, (3, 4))
    b.tensor_tensor(out[::-1], matrix[0], row[0], op="mult")
    np.testing.assert_array_equal(
        values_of(run(b, [matrix, row]), out)[2], (matrix[1] * row[1])[::-1]
    )


def test_predicated_copy_and_cast():
    b = ProgramBuilder()
    kept = given(b, "kept", 2, np.array([1, 2, 3, 4], np.float32))
    where = given(b, "where", 2, np.array([0, 1, 0, 7], np.uint8), Dtype.UINT8)
    data = given(b, "data", 2, np.array([-1, -2, -3, -4], np.float32))
    whole = given(b, "whole", 2, np.array([5, 6, 7, 8], np.int32), Dtype.INT32)
    b.copy_predicated(kept[0], where[0], data[0])
    b.cast_predicated(whole[0], where[0], data[0][2][None])
    machine = run(b, [kept, where, data, whole])
    assert values_of(machine, kept[0])[1].tolist() == [1, -2, 3, -4]
    assert values_of(machine, whole[0], "<i4")[1].tolist() == [5, -3, 7, -3]


def test_bitvec_and_psum():
    b = ProgramBuilder()
    left = given(b, "left", 32, np.array([0xF0F0, 0xFF], np.uint32), Dtype.UINT32)
    right = given(b, "right", 32, np.array([0xFF00, 0x0F], np.uint32), Dtype.UINT32)
    out = b.psum("out", 32, 2, Dtype.UINT32, partition=96)
    b.bitvec(out, left[0], right[0], op="BITWISE_XOR")
    machine = run(b, [left, right])
    assert out.region is Region.PSUM
    assert values_of(machine, out, "<u4")[31].tolist() == [0x0FF0, 0xF0]


def test_statistics_of_the_union_of_two_halves():
    b = ProgramBuilder()
    x = given(b, "x", 2, np.array([[1, 10, 3], [20, 5, 30]], np.float32))
    halves, moments = b.sbuf("halves", 2, (2, 3)), b.sbuf("moments", 2, 2)
    b.stats2(halves, x[0])
    b.aggregate(moments, halves)
    machine = run(b, [x])
    described = [(3, half.mean(), 3 * half.var()) for half in (x[1].flat[0::2], x[1].flat[1::2])]
    np.testing.assert_allclose(values_of(machine, halves)[1], described, rtol=1e-6)
    np.testing.assert_allclose(values_of(machine, moments)[1], [x[1].mean(), x[1].var()], rtol=1e-6)
    with pytest.raises(ProgramError, match=r"stats2: dst.num_elem .* must be exactly 6 elements"):
        b.stats2(halves[0], x[0])
    with pytest.raises(ProgramError, match=r"aggregate: src.num_elem .* a multiple of 3"):
        b.aggregate(moments, halves[:, :2])


def test_batch_norm_family_gives_the_first_vector():
    """batchnorm.md section 12: sums {0, -2, 0}; d_x {1/3, 0, -1/3}."""
    b = ProgramBuilder()
    x = given(b, "x", 1, np.array([1, 2, 3], np.float32))
    dy = given(b, "dy", 1, np.array([1, 0, -1], np.float32))
    mean, inv_std = (
        given(b, "mean", 1, np.array([2], np.float32)),
        given(b, "inv_std", 1, np.array([1], np.float32)),
    )
    sums = b.sbuf("sums", 1, 3)
    b.grad_accumulate(sums, x[0], dy[0], mean[0], inv_std[0])
    b.param_load(sums[:2], inv_std[0], mean[0], 3)
    b.back_prop(dy[0], x[0], dy[0])
    machine = run(b, [x, dy, mean, inv_std])
    assert values_of(machine, sums).ravel().tolist() == [0, -2, 0]
    assert values_of(machine, dy[0], "<u4").ravel().tolist() == [0x3EAAAAAB, 0, 0xBEAAAAAB]


def test_waits_and_updates():
    b = ProgramBuilder()
    a, _ = given(b, "a", 1, np.array([1], np.float32))
    b.tensor_tensor(
        a,
        a,
        a,
        op="add",
        wait=Wait(WaitMode.SEM_GE_IMM, 7, 2),
        update=Update(UpdateMode.SEM_INC_COMPLETE, 8),
    )
    b.nop(wait=Wait(WaitMode.EVT_SET, 3), update=Update(UpdateMode.SEM_ADD_IMM_READ, 4, 5))
    b.event_semaphore(
        wait=Wait(WaitMode.SEM_EQ_IMM, 1, -1), update=Update(UpdateMode.SEM_WR_IMM_READ, 2, 9)
    )
    fields = [decode(b.encode()[at : at + 64])[1] for at in range(0, 192, 64)]
    assert fields[0]["events.semaphore_value"] == 2
    assert fields[0]["events.update_idx"] == 8
    assert fields[1]["events.semaphore_value"] == 5
    assert (fields[2]["events.wait_value"], fields[2]["events.update_value"]) == (0xFFFFFFFF, 9)
    with pytest.raises(ValueError, match="share one operand, got 2 and 3; use event_semaphore"):
        b.nop(
            wait=Wait(WaitMode.SEM_GE_IMM, 7, 2), update=Update(UpdateMode.SEM_SUB_IMM_READ, 7, 3)
        )


def test_modes_may_be_numbers():
    b = ProgramBuilder()
    b.nop(wait=Wait(WaitMode(2), 3), update=Update(UpdateMode(17), 4, 5))
    b.nop(wait=Wait(2, 3), update=Update(17, 4, 5))  # pyright: ignore[reportArgumentType]
    assert b.encode()[:64] == b.encode()[64:]
    with pytest.raises(ValueError, match="254 is not a valid WaitMode"):
        b.nop(wait=Wait(254, 3))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("generation", list(Generation))
def test_text_assembles_to_the_program(generation):
    b = ProgramBuilder(generation=generation)
    x, _ = given(b, "x", 5, np.zeros((2, 3), np.float32))
    y = b.sbuf("y", 5, (2, 3), Dtype.FP16)
    b.tensor_tensor(y, x, x[0, 0], op="subtract")
    b.nop()
    text = b.assembly()
    assert assemble(text, generation) == b.encode()
    assert "# x  sbuf[0:0x0] fp32, 5 channels, 2 x 3\n" in text
    assert text.count("# dst=y src0=x src1=x") == 1
    assert len(b) == 2


def test_a_freed_tensor_gives_its_bytes_back():
    b = ProgramBuilder(sbuf_bytes=64)
    with b.scope():
        first = b.sbuf("first", 1, 12)
        with pytest.raises(AllocationError, match=r"second needs 48 bytes .* live: first 48"):
            b.sbuf("second", 1, 12)
    second = b.sbuf("second", 1, 12)
    assert second.offset == first.offset == 0
    with pytest.raises(ProgramError, match="dst: first is used after it was freed"):
        b.tensor_tensor(first, second, second, op="add")
    with pytest.raises(ProgramError, match="first is freed twice"):
        b.free(first)


def test_an_error_ends_a_scope_as_well():
    b = ProgramBuilder(sbuf_bytes=64)

    def too_much():
        with b.scope():
            b.sbuf("first", 1, 12)
            b.sbuf("second", 1, 12)

    with pytest.raises(AllocationError):
        too_much()
    assert b.sbuf("first", 1, 16).offset == 0


def test_numpys_integers_are_counts():
    b = ProgramBuilder()
    counts = np.array([2, 3])
    assert b.sbuf("t", counts[1], counts[0]).shape == (2,)
    assert b.sbuf("u", 1, (counts[0], 4)).shape == (2, 4)


def test_values_must_have_been_written():
    b = ProgramBuilder()
    a, _ = given(b, "a", 4, np.array([1, 2], np.float32))
    out = b.sbuf("out", 4, 2)
    b.tensor_tensor(out[:1], a[:1], a[:1], op="add")
    b.tensor_tensor(out[1:].on(2), a[1:].on(2), a[1:].on(2), op="add")
    b.tensor_tensor(out[:1], out[:1], a[:1], op="add")
    for read in (out.view, out[1:], out[::-1]):
        with pytest.raises(ProgramError, match="src0: out is read before it is written"):
            b.tensor_tensor(a, read.broadcast_to((2,)), a, op="add")
    where = b.sbuf("where", 4, 2, Dtype.UINT8)
    b.written_by_host(where)
    with pytest.raises(ProgramError, match="dst: out is read before it is written"):
        b.copy_predicated(out, where, a)


def bad_programs():
    def sized(b, dtype=Dtype.FP32, channels=4, count: int | tuple[int, ...] = 2, name="t"):
        tensor = b.sbuf(name, channels, count, dtype)
        b.written_by_host(tensor)
        return tensor

    def psum(b):
        out = b.psum("p", 4, 2, Dtype.BF16)
        return b.tensor_tensor(out, sized(b), sized(b, name="u"), op="add")

    yield (
        lambda b: b.tensor_tensor(
            sized(b), sized(b, channels=3, name="u"), sized(b, name="v"), "add"
        ),
        "tensor_tensor: channels differ: t 4, u 3, v 4",
    )
    yield (
        lambda b: b.tensor_tensor(sized(b), sized(b, name="u"), sized(b, name="v"), "plus"),
        ("there is no operator 'plus'"),
    )
    yield (
        lambda b: b.tensor_tensor(sized(b), sized(b, name="u"), sized(b, name="v"), "pow"),
        (r"tensor_tensor: op is .*: reason 6, operator"),
    )
    yield (
        lambda b: b.bitvec(sized(b), sized(b, name="u"), sized(b, name="v"), "bitwise_and"),
        (r"tensor_tensor_bitvec: .*reason 5, dtype"),
    )
    yield (
        lambda b: b.tensor_tensor(sized(b), sized(b, count=3, name="u"), sized(b, name="v"), "add"),
        (r"tensor_tensor: u: shape \(3,\) does not broadcast to \(2,\)"),
    )
    yield psum, r"tensor_tensor: dst.start_addr \(p\) is .*reason 8, region"
    yield (
        lambda b: b.tensor_tensor(sized(b), sized(b, name="u"), sized(b, name="v"), 4),
        ("there is no operator 4"),
    )
    for name in ("t\nnop", "t u", "", "\u2028"):  # the text has names in comments
        yield lambda b, name=name: sized(b, name=name), "a name is one printable word, got "
    dtypes: list[Any] = ["fp32", Dtype.INVALID]
    for dtype in dtypes:
        yield lambda b, dtype=dtype: sized(b, dtype), "t: dtype must be a Dtype with a size, got "
    yield lambda b: sized(b) and sized(b), "there is a live tensor t already"
    yield lambda b: sized(b, channels=129), "t: 129 channels cannot start at partition 0"
    yield lambda b: b.sbuf("t", 33, 1, partition=32), "33 channels cannot start at partition 32"
    yield lambda b: b.sbuf("t", 1, 1, partition=5), "1 channels cannot start at partition 5"
    yield lambda b: sized(b, count=0), r"t has no elements: shape \(0,\)"
    yield (
        lambda b: b.tensor_tensor(*[sized(ProgramBuilder())] * 3, op="add"),
        ("t belongs to another program"),
    )
    yield lambda b: b.back_prop(*[sized(b, count=(2, 2, 2, 2))[::2, 0:1, :, 0]] * 3), None
    yield (
        lambda b: b.back_prop(*[sized(b, count=(3, 3, 3, 3))[:2, :2, :2, :2]] * 3),
        ("dst: t needs 4 dimensions, has 3"),
    )
    yield (
        lambda b: b.tensor_tensor(*[sized(b, count=(2, 2**15))[:, 0]] * 3, op="add"),
        ("step_elem.* takes -32768..32767, got 32768"),
    )


@pytest.mark.parametrize(("make", "message"), list(bad_programs()))
def test_what_cannot_be_written(make, message):
    b = ProgramBuilder(sbuf_bytes=256 * 1024, generation=Generation.MARIANA)
    if message is None:
        make(b)
        assert len(b) == 1
        return
    with pytest.raises(ProgramError, match=message):
        make(b)
    assert len(b) == 0


def test_memory_that_a_generation_lacks():
    with pytest.raises(ProgramError, match="p: maverick has no psum"):
        ProgramBuilder(generation=Generation.MAVERICK).psum("p", 1, 1)


def test_every_instruction_is_legal():
    """Random operands: whatever the builder takes, the validator takes."""
    rng = np.random.default_rng(11)
    b = ProgramBuilder()
    tensors = []
    for number, dtype in enumerate((Dtype.FP32, Dtype.BF16, Dtype.UINT8, Dtype.INT32) * 3):
        channels = int(rng.choice([32, 64]))
        tensors.append(b.sbuf(f"t{number}", channels, (4, 6), dtype))
        b.written_by_host(tensors[-1])
    refused = 0
    for _ in range(400):
        width = rng.integers(1, 7)
        views = [
            tensors[i].on(32)[:: rng.choice([1, 2, -1])][:2, :width]
            for i in rng.integers(len(tensors), size=3)
        ]
        method = [b.back_prop, b.copy_predicated, b.cast_predicated][rng.integers(3)]
        try:
            method(*views)
        except ProgramError:
            refused += 1
    program = b.encode()
    assert 50 < len(b) == 400 - refused
    assert all(validate(program[at : at + 64]).legal for at in range(0, len(program), 64))
    assert {Opcode(code) for code in program[::64]} == {
        *(Opcode.BATCH_NORM_BACK_PROP, Opcode.COPY_PREDICATED, Opcode.CAST_PREDICATED)
    }
