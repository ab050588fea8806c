"""The golden machine: vectors of batchnorm.md section 12, and a scalar reading of the rest."""

import numpy as np
import pytest
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.machine import Completion, Machine
from random_records import (
    ARITHMETIC,
    BIT_VECTOR,
    PSUM,
    PSUM_BYTES,
    PSUM_QUADRANT,
    QUADRANT,
    SBUF_BYTES,
    SINCE_MARIANA,
    RandomRecords,
    bits,
    pattern,
)
from scalar_machine import ScalarMachine

NAN = 0x7FC0_0000
ONE_THIRD = 0x3EAA_AAAB
REGISTER = 0x8000_0000


def words(machine, partition, offset, count, *, psum=False):
    """Words of a partition as bit patterns."""
    row = (machine.psum if psum else machine.sbuf)[partition]
    return row.view(np.uint32)[offset // 4 : offset // 4 + count].tolist()


def put(machine, partitions, offset, values):
    """Write fp32 values, the same in every partition."""
    values = np.asarray(values, np.float32)
    machine.sbuf.view(np.float32)[partitions, offset // 4 : offset // 4 + len(values)] = values


def accumulate(count, *, channels=1, om=0, dy=0x40, out=0x80, mean=0xC0, inv_std=0xC4, steps=(1,)):
    return encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE,
        {
            "imm0": mean,
            "imm1": inv_std,
            **pattern("src0", om, (count, 1, 1)),
            **pattern("src1", dy, (count, 1, 1)),
            **pattern("dst", out, (3,), steps),
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "out_dtype": Dtype.FP32,
            "num_active_channels": channels,
        },
    )


def load2(n, *, channels=1, src=0x80, mean=0xC0, a=0xC8):
    return encode(
        Opcode.BATCH_NORM_PARAM_LOAD2,
        {
            **pattern("src", src, (2, 1)),
            "element_count": bits(n),
            "src_dtype": Dtype.FP32,
            "immediate_dtype": Dtype.FP32,
            "num_active_channels": channels,
            "imm0": mean,
            "imm1": a,
        },
    )


def back_prop(count, *, channels=1, x=0, dy=0x40, out=0x80, steps=(1, 1, 1)):
    return encode(
        Opcode.BATCH_NORM_BACK_PROP,
        {
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "out_dtype": Dtype.FP32,
            "num_active_channels": channels,
            **pattern("src0", x, (count, 1, 1)),
            **pattern("src1", dy, (count, 1, 1)),
            **pattern("dst", out, (count, 1, 1), steps),
        },
    )


def executed(machine, *records):
    completions = machine.run(b"".join(records))
    assert [c.reason for c in completions] == [Reason.NONE] * len(records)


def small():
    return Machine(sbuf_bytes=SBUF_BYTES, psum_bytes=PSUM_BYTES)


def snapshot(machine):
    return {
        name: getattr(machine, name).tobytes()
        for name in (
            *("sbuf", "psum", "lane_state", "parameter_ram"),
            *("registers", "semaphores", "events", "control"),
        )
    }


# The vectors of batchnorm.md section 12


def test_three_elements_forward_and_back():
    machine = small()
    put(machine, 0, 0x00, [1, 2, 3])
    put(machine, 0, 0x40, [1, 0, -1])
    put(machine, 0, 0xC0, [2, 1, 1])  # mean, inv_std, A
    executed(machine, accumulate(3))
    assert words(machine, 0, 0x80, 3) == [0x0000_0000, 0xC000_0000, 0x0000_0000]
    executed(machine, load2(3), back_prop(3))
    assert words(machine, 0, 0x80, 3) == [ONE_THIRD, 0x0000_0000, 0xBEAA_AAAB]
    assert machine.lane_state[0].tolist() == [3, 2, 1, 0, -2]


def test_large_gradient_first():
    machine = small()
    put(machine, 0, 0x40, [2.0**24] + [1] * 8)
    executed(machine, accumulate(9))
    assert words(machine, 0, 0x80, 1) == [0x4B80_0003]


def test_lane_state_belongs_to_the_channel():
    """Loaded on quadrant 1, applied on quadrant 2."""
    machine = small()
    k = np.arange(32, dtype=np.float32)
    machine.sbuf.view(np.float32)[32:64, 0x80 // 4] = k  # B
    machine.sbuf.view(np.float32)[32:64, 0xC8 // 4] = 1  # A
    executed(
        machine,
        load2(1, channels=32, src=QUADRANT + 0x80, mean=QUADRANT + 0xC0, a=QUADRANT + 0xC8),
        back_prop(1, channels=32, x=2 * QUADRANT, dy=2 * QUADRANT + 0x40, out=2 * QUADRANT + 0x80),
    )
    np.testing.assert_array_equal(machine.sbuf.view(np.float32)[64:96, 0x80 // 4], -k)
    np.testing.assert_array_equal(machine.lane_state[:32, 3], k)
    assert not machine.lane_state[32:].any()


# State, completions, errors


def test_state_after_reset():
    machine = Machine()
    assert (machine.sbuf.shape, machine.psum.shape) == ((128, 65536), (128, 16384))
    assert not machine.sbuf.any()
    assert not machine.psum.any()
    assert machine.registers.dtype == np.uint32
    assert machine.registers.tolist() == [0] * 64
    assert machine.lane_state.shape == (128, 5)
    assert not machine.lane_state.any()
    assert machine.parameter_ram[[0, 1, 2, 4]].tolist() == [1, 1, 0.5, 0.25]
    assert (machine.semaphores.dtype, machine.semaphores.tolist()) == (np.uint32, [0] * 256)
    assert (machine.events.dtype, machine.events.tolist()) == (np.uint8, [0] * 256)
    assert (machine.control.dtype, machine.control.tolist()) == (np.uint32, [7] + [0] * 6)
    mariana = Machine(generation=Generation.MARIANA)
    assert mariana.control.tolist() == [8] + [0] * 6


def test_sizes_are_capped_at_the_active_size():
    machine = Machine(sbuf_bytes=1 << 20, psum_bytes=1 << 20)
    assert (machine.sbuf.shape[1], machine.psum.shape[1]) == (0x3_8000, 0x4000)
    with pytest.raises(ValueError, match="sbuf_bytes"):
        Machine(sbuf_bytes=0)


def test_illegal_instructions_only_complete():
    machine = small()
    rng = np.random.default_rng(1)
    machine.sbuf[:] = rng.integers(0, 256, machine.sbuf.shape)
    machine.lane_state.view(np.uint32)[:] = rng.integers(0, 1 << 32, (128, 5), np.uint32)
    before = snapshot(machine)
    unknown = bytes([0x42, 16]) + bytes(62)
    short = accumulate(3)[:1] + b"\x0f" + accumulate(3)[2:]
    outside = back_prop(3, out=0x80, steps=(100, 1, 1))
    assert machine.run(unknown + short + outside) == [
        Completion(0, 0x42, Reason.OPCODE),
        Completion(1, 0x63, Reason.LENGTH),
        Completion(2, 0x65, Reason.WALK),
    ]
    assert snapshot(machine) == before
    assert machine.execute(accumulate(3)) == Completion(3, 0x63, Reason.NONE)


def test_wrong_lengths_are_refused():
    machine = small()
    with pytest.raises(ValueError, match="64 bytes long, got 63"):
        machine.execute(bytes(63))
    with pytest.raises(ValueError, match="multiple of 64 bytes long, got 65"):
        machine.run(bytes(65))
    assert machine.execute(accumulate(1)).sequence == 0


def test_nan_patterns_of_the_user_survive():
    """State that no instruction touches keeps its bits; what is read becomes canonical."""
    machine = small()
    payload = 0xFFA1_2345  # signalling, with sign
    machine.lane_state.view(np.uint32)[:] = payload
    machine.parameter_ram.view(np.uint32)[:] = payload
    machine.sbuf.view(np.uint32)[:] = payload
    executed(machine, load2(5, channels=2), back_prop(1, channels=2))
    lanes = machine.lane_state.view(np.uint32)
    assert lanes[:2].tolist() == [[bits(5), NAN, NAN, NAN, NAN]] * 2
    assert (lanes[2:] == payload).all()
    assert (machine.parameter_ram.view(np.uint32) == payload).all()
    sbuf = machine.sbuf.view(np.uint32)
    assert sbuf[:2, 0x80 // 4].tolist() == [NAN, NAN]
    assert (np.delete(sbuf, 0x80 // 4, axis=1) == payload).all()
    assert (sbuf[2:] == payload).all()


# Single rules


def test_channels_never_loaded_give_nan():
    machine = small()
    executed(machine, back_prop(2, channels=3))
    assert [words(machine, k, 0x80, 3) for k in range(3)] == [[NAN, NAN, 0]] * 3
    assert words(machine, 3, 0x80, 2) == [0, 0]


def test_sums_with_step_zero_leave_the_last():
    machine = small()
    put(machine, 0, 0x00, [4, 6])
    put(machine, 0, 0x40, [10, 20])
    put(machine, 0, 0xC0, [1, 1])
    executed(machine, accumulate(2, steps=(0,)))
    assert words(machine, 0, 0x80, 2) == [bits(8), 0]  # 3 + 5


def test_sums_may_overwrite_sources_and_immediates():
    machine = small()
    put(machine, 0, 0x00, [4, 6])
    put(machine, 0, 0x40, [10, 20])
    put(machine, 0, 0xC0, [1, 1])
    executed(machine, accumulate(2, out=0xC4, steps=(-1,)))
    assert words(machine, 0, 0xBC, 3) == [bits(8), bits(130), bits(30)]


def test_parameter_ram_is_loaded_and_read_at_execution():
    machine = small()
    machine.sbuf.view(np.uint32)[32, :3] = [0x7F80_0001, bits(10), bits(20)]
    put(machine, 0, 0xC0, [0, 0, 1])  # mean, -, A
    put(machine, 0, 0x40, [1])
    load_ram = encode(
        Opcode.LOAD_PARAMETER_RAM,
        {"addr": QUADRANT, "first_entry": 0, "entry_count": 3, "dtype": Dtype.FP32},
    )
    executed(machine, load2(2), load_ram, back_prop(1))
    assert machine.parameter_ram[:3].view(np.uint32).tolist() == [NAN, bits(10), bits(20)]
    assert machine.parameter_ram[3].view(np.uint32) == ONE_THIRD
    assert words(machine, 0, 0x80, 1) == [bits(1 * 20 * 2 * 1)]  # A * RAM[2] * (N * dy)


@pytest.mark.parametrize("counts", [(3, 1), (1, 3)])
def test_parameters_from_either_dimension(counts):
    machine = small()
    put(machine, slice(0, 2), 0x20, [0.5, 2, 4])
    put(machine, slice(0, 2), 0x40, [7])
    record = encode(
        Opcode.BATCH_NORM_PARAM_LOAD,
        {
            **pattern("src", 0x20, counts),
            "imm1": bits(9),
            "dtype": Dtype.FP32,
            "num_active_channels": 2,
            "imm0": 0x40,
        },
    )
    executed(machine, record)
    assert machine.lane_state[:3].tolist() == [[9, 7, 0.5, 2, 4]] * 2 + [[0] * 5]


def test_addresses_and_pointers_from_registers():
    machine = small()
    put(machine, 32, 0x00, [4, 6])
    put(machine, 32, 0x40, [10, 20])
    put(machine, 32, 0x60, [1, 2])
    machine.registers[[7, 9, 63]] = [QUADRANT, QUADRANT + 0x60, PSUM + PSUM_QUADRANT + 8]
    record = encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
        {
            "imm0": 9,
            "imm1": QUADRANT + 0x64,
            **pattern("src0", REGISTER | 7, (2, 1, 1)),
            **pattern("src1", QUADRANT + 0x40, (2, 1, 1)),
            **pattern("dst", REGISTER | 63, (3,)),
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "immediate_out_dtype.lo": Dtype.FP32,
            "immediate_out_dtype.hi": Dtype.FP32,
            "imm0_imm1_src.lo": 2,
            "imm0_imm1_src.hi": 1,
            "num_active_channels": 1,
        },
    )
    executed(machine, record)
    assert words(machine, 32, 8, 3, psum=True) == [bits(30), bits(260), bits(16)]


def test_recurrence_through_memory():
    """d_x[e] is the activation of element e + 1, so each result depends on the one before."""
    machine = small()
    put(machine, slice(0, 3), 0x00, [1])
    machine.lane_state[:3] = (1, 0, 1, 0, 3)  # d_x = dy - 3 * x
    put(machine, slice(0, 3), 0x40, [0] * 5)
    executed(machine, back_prop(5, channels=3, x=0, dy=0x40, out=4))
    assert words(machine, 2, 0, 6) == [bits((-3.0) ** e) for e in range(6)]


def test_channels_do_not_depend_on_each_other():
    """128 channels of 1000 elements equal the same channels alone, though cut elsewhere."""
    rng = np.random.default_rng(8)
    before = rng.standard_normal((128, 4096)).astype(np.float32)
    lanes = rng.standard_normal((128, 5))

    def rows(partition, channels):
        machine = Machine(sbuf_bytes=16 * 1024)
        machine.sbuf[:channels] = before[partition : partition + channels].view(np.uint8)
        machine.lane_state[:channels] = lanes[partition : partition + channels]
        executed(
            machine,
            accumulate(1000, channels=channels, dy=4096, out=12288, mean=12300, inv_std=12304),
            back_prop(1000, channels=channels, dy=4096, out=8192),
        )
        return machine.sbuf[:channels]

    together = rows(0, 128)
    for k in (0, 77, 127):
        np.testing.assert_array_equal(together[k], rows(k, 1)[0])


# Random legal instructions against the scalar machine


def agree(machine, record):
    """Execute on both machines and compare every bit of the state."""
    scalar = ScalarMachine(machine)
    completion = machine.execute(record)
    assert completion.reason is Reason.NONE
    scalar.execute(record)
    got = snapshot(machine)
    for name, want in scalar.state().items():
        wrong = np.flatnonzero(np.frombuffer(got[name], np.uint8) != np.frombuffer(want, np.uint8))
        assert not len(wrong), f"{name} differs at bytes {wrong[:8]}, record {record.hex(' ')}"


@pytest.mark.parametrize("batch", range(8))
def test_back_prop_equals_the_scalar_machine(batch):
    for seed in range(25):
        records = RandomRecords([65, batch, seed])
        if batch % 2:
            records.any_control()
        agree(records.machine, records.back_prop())


@pytest.mark.parametrize("operator", [*ARITHMETIC, *SINCE_MARIANA], ids="{:#04x}".format)
def test_tensor_tensor_equals_the_scalar_machine(operator):
    for seed in range(24):
        records = RandomRecords([41, operator, seed], Generation.MARIANA)
        if seed % 2:
            records.any_control()
        agree(records.machine, records.tensor_tensor(operator))


@pytest.mark.parametrize("operator", BIT_VECTOR, ids="{:#04x}".format)
def test_bit_vector_operators_equal_the_scalar_machine(operator):
    for seed in range(24):
        records = RandomRecords([51, operator, seed])
        agree(records.machine, records.bit_vector(operator))


@pytest.mark.parametrize("kind", ["copy_predicated", "cast_predicated"])
@pytest.mark.parametrize("batch", range(4))
def test_predicated_copies_equal_the_scalar_machine(kind, batch):
    for seed in range(40):
        records = RandomRecords([72, batch, seed])
        if seed % 2:
            records.any_control()
        if seed % 4 > 1:  # a predicate of random words is nearly always true
            holes = records.rng.random(records.machine.sbuf.shape) < 0.7
            records.machine.sbuf[holes] = 0
        agree(records.machine, getattr(records, kind)())


@pytest.mark.parametrize(
    ("opcode", "operator"),
    [
        (Opcode.TENSOR_TENSOR_ADD_BF16, 0x04),
        (Opcode.TENSOR_TENSOR_MULT_BF16, 0x06),
        (Opcode.TENSOR_TENSOR_SUB_BF16, 0x05),
    ],
)
def test_bf16_opcodes_equal_the_scalar_machine(opcode, operator):
    for seed in range(40):
        records = RandomRecords([int(opcode), seed], Generation.SUNDA)
        agree(records.machine, records.bf16(opcode, operator))


@pytest.mark.parametrize(
    "opcode",
    [
        *(Opcode.BATCH_NORM_STATS, Opcode.BATCH_NORM_STATS2),
        *(Opcode.BATCH_NORM_AGGREGATE, Opcode.TRANSPOSE_BATCH_NORM_STATS2),
    ],
)
def test_statistics_equal_the_scalar_machine(opcode):
    for seed in range(80):
        records = RandomRecords([int(opcode), seed])
        if seed % 2:
            records.any_control()
        if seed % 8 == 7:  # what recip reads need not be reciprocals
            records.machine.parameter_ram.view(np.uint32)[:] = records.words(256)
        agree(records.machine, records.statistics(opcode))


@pytest.mark.parametrize(
    "opcode", [Opcode.BATCH_NORM_GRAD_ACCUMULATE, Opcode.BATCH_NORM_GRAD_ACCUMULATE2]
)
def test_grad_accumulate_equals_the_scalar_machine(opcode):
    for seed in range(50):
        records = RandomRecords([int(opcode), seed])
        if seed % 2:
            records.any_control()
        agree(records.machine, records.accumulate(opcode))


def test_parameter_loads_equal_the_scalar_machine():
    for seed in range(20):
        records = RandomRecords([64, seed])
        if seed % 2:
            records.any_control()
        for record in (records.load(), records.load2(), records.load_ram()):
            agree(records.machine, record)
        agree(records.machine, records.back_prop())


def test_forward_and_backward_in_one_program_equal_the_scalar_machine():
    """Each on what the ones before it left in memory, lane state and Parameter RAM."""
    for seed in range(20):
        records = RandomRecords([60, 65, seed])
        kinds = [
            lambda r: r.statistics(Opcode.BATCH_NORM_STATS),
            lambda r: r.statistics(Opcode.BATCH_NORM_STATS2),
            lambda r: r.statistics(Opcode.BATCH_NORM_AGGREGATE),
            lambda r: r.accumulate(Opcode.BATCH_NORM_GRAD_ACCUMULATE2),
            RandomRecords.load,
            RandomRecords.load2,
            RandomRecords.load_ram,
            RandomRecords.back_prop,
            RandomRecords.tensor_tensor,
        ]
        for index in records.rng.permutation(len(kinds)):
            agree(records.machine, kinds[index](records))
