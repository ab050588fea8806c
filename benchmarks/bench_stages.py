"""Speed of single stages of the golden model on one core: converters and operators.

Prints a table of million elements per second for arrays of one block, as instructions use them.

    python benchmarks/bench_stages.py [--repeat 101]
"""

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from bench_golden import best
from dve_golden.alu.arith import arithmetic
from dve_golden.alu.bitvec import bitvector
from dve_golden.convert.integer import INTEGERS
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import Dtype
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR
from dve_golden.memory.order import BLOCK_ELEMENTS

CHANNELS = 128
SHAPE = (CHANNELS, BLOCK_ELEMENTS // CHANNELS)

SOURCES = (
    *(Dtype.FP32, Dtype.BF16, Dtype.FP16, Dtype.FP8_EXP5, Dtype.FP8_EXP4, Dtype.FP8_EXP3),
    *INTEGERS,
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure stages of the golden model on one core.")
    parser.add_argument("--repeat", type=int, default=101)
    repeat = parser.parse_args().repeat

    rng = np.random.default_rng(1)
    a, b = (50 * rng.standard_normal((2, *SHAPE))).astype(np.float32)

    def rate(action: Callable[[], object]) -> str:
        return f"{a.size / best(action, repeat) / 1e6:8.0f}"

    print(f"{CHANNELS} x {SHAPE[1]} elements, best of {repeat}; million elements/s\n")
    print(f"{'type':20}{'widen':>8}{'narrow':>8}")
    for dtype in SOURCES:
        raw = narrow(a, dtype)
        rates = rate(partial(widen, raw, dtype)), rate(partial(narrow, a, dtype))
        print(f"{dtype.name:20}{''.join(rates)}")
    print(f"{Dtype.FP32R.name:20}{'':8}{rate(partial(narrow, a, Dtype.FP32R))}\n")

    print(f"{'operator':20}{'fp32':>8}")
    for op in sorted(GENERAL_ARITHMETIC[Generation.MARIANA]):
        print(f"{op.name:20}{rate(partial(arithmetic, op, a, b))}")
    print(f"\n{'operator':20}{'8 bits':>8}{'16 bits':>8}{'32 bits':>8}")
    for op in sorted(GENERAL_BITVECTOR):
        rates = [
            rate(partial(bitvector, op, *elements))
            for size in (1, 2, 4)
            for elements in [rng.integers(0, 40, (2, *SHAPE)).astype(f"<u{size}")]
        ]
        print(f"{op.name:20}{''.join(rates)}")


if __name__ == "__main__":
    main()
