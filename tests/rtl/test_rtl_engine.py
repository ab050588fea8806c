"""The whole engine in Amaranth's simulator: every opcode once, against the golden machine."""

import numpy as np
import pytest
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode
from dve_golden.machine import Machine
from dve_rtl.config import EngineConfig
from engine_bench import run_portable

PSUM = 0x0200_0000
CHANNELS = 6
COUNT = 3

SMALL = {"sbuf_bytes": 64, "psum_bytes": 16, "lanes": 4}
CONFIGS = {
    "sim": EngineConfig(**SMALL),
    "deep": EngineConfig(
        **SMALL, beat_bits=32, mul_latency=8, add_latency=7, widen_latency=4, narrow_latency=4
    ),
}

# Bytes in an SBUF partition.
X, DY, MEAN, INV_STD, SUMS, D_X, A = 0, 12, 20, 24, 28, 40, 48


def tensor(name, start, counts, *, steps=None):
    steps = steps or (1,) * len(counts)
    return {f"{name}.start_addr": start, f"{name}.step_elem": steps, f"{name}.num_elem": counts}


def program() -> bytes:
    """One layer, then each opcode in another form: PSUM, registers, overlap, and an illegal one."""
    elements = (COUNT, 1, 1)
    sources = {
        **tensor("src0", X, elements),
        **tensor("src1", DY, elements),
        "in0_in1_dtype.lo": Dtype.FP32,
        "in0_in1_dtype.hi": Dtype.BF16,
        "num_active_channels": CHANNELS,
    }
    grad = {**sources, **tensor("dst", SUMS, (3,)), "imm0": MEAN, "imm1": INV_STD}
    records = [
        encode(
            Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
            {
                **grad,
                "imm0": 5,  # a register
                "immediate_out_dtype.lo": Dtype.FP32,
                "immediate_out_dtype.hi": Dtype.FP32,
                "imm0_imm1_src.lo": 2,
                "imm0_imm1_src.hi": 1,
            },
        ),
        encode(
            Opcode.BATCH_NORM_PARAM_LOAD2,
            {
                **tensor("src", SUMS, (2, 1)),
                "element_count": np.float32(2.5).view(np.uint32).item(),
                "src_dtype": Dtype.FP32,
                "immediate_dtype": Dtype.FP32,
                "num_active_channels": CHANNELS,
                "imm0": MEAN,
                "imm1": A,
                "imm0_src": 1,
                "imm1_src": 0,
            },
        ),
        encode(
            Opcode.BATCH_NORM_BACK_PROP,
            {**sources, **tensor("dst", D_X, elements), "out_dtype": Dtype.FP16},
        ),
        encode(
            Opcode.LOAD_PARAMETER_RAM,
            {"addr": A, "first_entry": 3, "entry_count": 2, "dtype": Dtype.FP32},
        ),
        encode(
            Opcode.BATCH_NORM_PARAM_LOAD,
            {
                **tensor("src", A, (1, 3), steps=(7, 1)),
                "imm1": np.float32(3).view(np.uint32).item(),
                "dtype": Dtype.FP32,
                "num_active_channels": CHANNELS - 1,
                "imm0": MEAN,
                "imm0_src": 0,
            },
        ),
        encode(Opcode.BATCH_NORM_BACK_PROP, {**sources, "op": 1, "out_dtype": Dtype.FP32}),
        encode(  # each element is the next one's activation
            Opcode.BATCH_NORM_BACK_PROP,
            {
                **sources,
                **tensor("src1", PSUM, elements),
                **tensor("dst", X + 4, elements),
                "in0_in1_dtype.hi": Dtype.INT32,
                "out_dtype": Dtype.FP32,
            },
        ),
        encode(
            Opcode.BATCH_NORM_GRAD_ACCUMULATE,
            {
                **grad,
                **tensor("dst", PSUM + 8, (3,), steps=(-1,)),
                "immediate_dtype": Dtype.INT32,  # not the type of what is read before and after
                "out_dtype": Dtype.FP32,
            },
        ),
    ]
    return b"".join(records)


def machine() -> Machine:
    rng = np.random.default_rng(8)
    state = Machine(sbuf_bytes=SMALL["sbuf_bytes"], psum_bytes=SMALL["psum_bytes"])
    floats = rng.standard_normal((128, SMALL["sbuf_bytes"] // 4)).astype(np.float32)
    state.sbuf[:] = floats.view(np.uint8)
    state.psum[:] = rng.integers(0, 256, state.psum.shape)
    state.registers[5] = MEAN
    return state


@pytest.mark.parametrize(("name", "reset_after"), [("deep", None), ("sim", 60)])
def test_the_state_is_that_of_the_golden_machine(name, reset_after):
    golden = machine()
    # The first instruction overwrites nothing that it reads, so beginning anew changes nothing.
    run = run_portable(CONFIGS[name], golden, program(), reset_after=reset_after)
    expected = [(c.sequence, c.opcode, c.reason) for c in golden.run(program())]
    assert run.completions == expected
    assert [reason for *_, reason in expected] == [0, 0, 0, 0, 0, 6, 0, 0]
    for name in ("sbuf", "psum", "lane_state", "parameter_ram"):
        got, want = (np.ascontiguousarray(getattr(of, name)) for of in (run, golden))
        want = want[: len(got)]
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8), name)
