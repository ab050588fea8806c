"""Speed of the golden machine on one core.

Prints a table, or with ``--json`` one JSON object. An element is one ordinal of one channel.
Machines differ, so each figure also comes as a multiple of the time that one ``numpy.copyto``
needs for the bytes that the instruction reads and writes.

    python benchmarks/bench_golden.py [--json] [--channels 128] [--elements 4096] [--repeat 7]
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from dve_golden.isa.codec import Value, encode
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, Opcode, Reason
from dve_golden.machine import Machine

PSUM = 0x200_0000


@dataclass(frozen=True)
class Figure:
    """Best of the repetitions of one instruction."""

    name: str
    seconds: float
    elements_per_second: float
    times_copy: float


def best(action: Callable[[], object], repeat: int) -> float:
    """Shortest wall time of ``repeat`` calls, in seconds, after one that warms the caches."""
    action()
    durations = []
    for _ in range(repeat):
        start = perf_counter()
        action()
        durations.append(perf_counter() - start)
    return min(durations)


def pattern(name: str, address: int, count: int) -> dict[str, Value]:
    """A contiguous three-dimensional access pattern."""
    return {
        f"{name}.start_addr": address,
        f"{name}.step_elem": (1, 1, 1),
        f"{name}.num_elem": (count, 1, 1),
    }


def grad_accumulate(channels: int, count: int, dtype: Dtype) -> bytes:
    size = DTYPE_BYTES[dtype]
    return encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
        {
            "imm0": PSUM,
            "imm1": PSUM + 4,
            **pattern("src0", 0, count),
            **pattern("src1", size * count, count),
            "dst.start_addr": PSUM + 8,
            "dst.step_elem": (1,),
            "dst.num_elem": (3,),
            "in0_in1_dtype.lo": dtype,
            "in0_in1_dtype.hi": dtype,
            "immediate_out_dtype.lo": Dtype.FP32,
            "immediate_out_dtype.hi": Dtype.FP32,
            "imm0_imm1_src.lo": 1,
            "imm0_imm1_src.hi": 1,
            "num_active_channels": channels,
        },
    )


def back_prop(channels: int, count: int, dtype: Dtype) -> bytes:
    size = DTYPE_BYTES[dtype]
    return encode(
        Opcode.BATCH_NORM_BACK_PROP,
        {
            "in0_in1_dtype.lo": dtype,
            "in0_in1_dtype.hi": dtype,
            "out_dtype": dtype,
            "num_active_channels": channels,
            **pattern("src0", 0, count),
            **pattern("src1", size * count, count),
            **pattern("dst", 2 * size * count, count),
        },
    )


def measure(
    name: str, record: bytes, streams: int, channels: int, count: int, dtype: Dtype, repeat: int
) -> Figure:
    """Time one instruction on plausible data.

    Parameters
    ----------
    streams
        Tensors of ``count`` elements that it reads or writes.
    """
    machine = Machine(sbuf_bytes=3 * 4 * count)
    values = np.random.default_rng(1).standard_normal((128, machine.sbuf.shape[1] // 4))
    if dtype is Dtype.FP32:
        machine.sbuf[:] = values.astype(np.float32).view(np.uint8)
    else:  # upper halves of binary32 patterns are BF16 patterns
        upper = values.astype(np.float32).view(np.uint16)[:, 1::2]
        machine.sbuf[:] = np.tile(upper, 2).view(np.uint8)
    machine.psum.view(np.float32)[:, :2] = (0.5, 2.0)
    machine.lane_state[:] = (1000.0, 0.5, 1.0, 0.25, 0.125)
    completion = machine.execute(record)
    if completion.reason is not Reason.NONE:
        sys.exit(f"{name}: the instruction is illegal, reason {completion.reason.name}")

    seconds = best(lambda: machine.execute(record), repeat)
    source = np.ones(streams * channels * count * DTYPE_BYTES[dtype], np.uint8)
    target = np.empty_like(source)
    copy = best(lambda: np.copyto(target, source), repeat)
    return Figure(name, seconds, channels * count / seconds, seconds / copy)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the golden machine on one core.")
    parser.add_argument("--channels", type=int, default=128)
    parser.add_argument("--elements", type=int, default=4096, help="per channel")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    args = parser.parse_args()

    figures = []
    for dtype in (Dtype.FP32, Dtype.BF16):
        for make, streams in ((grad_accumulate, 2), (back_prop, 3)):
            name = f"{make.__name__}_{dtype.name.lower()}"
            record = make(args.channels, args.elements, dtype)
            figures.append(
                measure(name, record, streams, args.channels, args.elements, dtype, args.repeat)
            )

    if args.json:
        report = {"channels": args.channels, "elements_per_channel": args.elements}
        print(json.dumps(report | {"figures": [asdict(figure) for figure in figures]}))
        return
    print(f"{args.channels} channels x {args.elements} elements, best of {args.repeat}")
    for figure in figures:
        print(
            f"{figure.name:22}{figure.seconds * 1e3:8.2f} ms"
            f"{figure.elements_per_second / 1e6:8.1f} million elements/s"
            f"{figure.times_copy:7.1f} x copy"
        )


if __name__ == "__main__":
    main()
