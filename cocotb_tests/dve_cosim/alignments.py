"""Addresses of every type at every byte of a word: which of them are aligned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from dve_golden.isa.text import assemble
from dve_rtl.config import WORD_BYTES, EngineConfig

from dve_cosim.workloads import Workload, random_state

_SUMMANDS = ("fp32", "int32", "fp16", "bf16")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
PLAIN = (*_INTEGERS, "fp32", "fp16", "bf16", "fp8_exp3", "fp8_exp4", "fp8_exp5")
"""Types of sources."""

RESULTS = (*PLAIN, "fp32r")
"""Types of destinations."""

_SUMS = "channels=1 src0=sbuf[0:0x0]:fp32:1 src1=sbuf[0:0x8]:fp32:1"
_TEMPLATES: dict[str, tuple[str, ...]] = {
    # {byte} and {dtype} are those of one address; the others are aligned whatever their type is
    "back_prop channels=1 src0=sbuf[0:{byte}]:{dtype}:1 src1=sbuf[0:8]:fp32:1"
    " dst=sbuf[0:16]:fp32:1": PLAIN,
    "back_prop channels=1 src0=sbuf[0:0]:fp32:1 src1=psum[0:{byte}]:{dtype}:1"
    " dst=sbuf[0:16]:fp32:1": PLAIN,
    "back_prop channels=1 src0=sbuf[0:0]:fp32:1 src1=sbuf[0:8]:fp32:1"
    " dst=sbuf[0:{byte}]:{dtype}:1": RESULTS,
    "back_prop channels=1 src0=sbuf[0:0]:fp32:1 src1=sbuf[0:8]:fp32:1"
    " dst=psum[0:{byte}]:{dtype}:1": RESULTS,
    "tensor_tensor_bitvec channels=1 op=bitwise_xor src0=sbuf[0:{byte}]:{dtype}:1"
    " src1=sbuf[0:8]:{dtype}:1 dst=sbuf[0:16]:{dtype}:1": _INTEGERS,
    "cast_predicated channels=1 src0=psum[0:{byte}]:{dtype}:1 src1=sbuf[0:8]:fp16:1"
    " dst=sbuf[0:16]:int8:1": _INTEGERS,
    "copy_predicated channels=1 src0=sbuf[0:0]:int8:1 src1=sbuf[0:8]:{dtype}:1"
    " dst=sbuf[0:{byte}]:{dtype}:1": PLAIN,
    f"grad_accumulate {_SUMS} dst=sbuf[0:16]:fp32:3"
    " imm0=sbuf[0:{byte}] imm1=sbuf[0:8] imm_dtype={dtype}": _SUMMANDS,
    f"grad_accumulate2 {_SUMS} dst=sbuf[0:16]:fp32:3"
    " imm0=sbuf[0:8] imm1=psum[0:{byte}] imm_dtype={dtype}": _SUMMANDS,
    "stats2 channels=1 even_count=1.0 odd_count=0.0 src=sbuf[0:{byte}]:{dtype}:1"
    " dst=sbuf[0:16]:fp32:6": PLAIN,
    "aggregate channels=1 src=sbuf[0:0]:fp32:3 dst=sbuf[0:{byte}]:{dtype}:2": RESULTS,
    "param_load channels=1 src=sbuf[0:{byte}]:{dtype}:3 imm0=sbuf[0:0] imm1=1.0": _SUMMANDS,
    "param_load2 channels=1 src=sbuf[0:0]:fp32:2 imm0=sbuf[0:{byte}] imm1=sbuf[0:8]"
    " imm_dtype={dtype} element_count=3.0": _SUMMANDS,
    "load_parameter_ram addr=sbuf[0:{byte}]:{dtype} first_entry=1 entry_count=1": ("fp32",),
}


def alignments(seed: int, config: EngineConfig) -> Workload:
    """One program of all of them, on a random state; a third is legal.

    Parameters
    ----------
    seed : int
        Of the state.
    config : EngineConfig
    """
    workload = Workload()
    state = random_state(np.random.default_rng(seed), config, special=0.0)
    workload.append(state, [b"".join(map(assemble, _texts()))])
    return workload


def _texts() -> Iterator[str]:
    for template, dtypes in _TEMPLATES.items():
        for dtype, byte in product(dtypes, range(WORD_BYTES)):
            yield template.format(byte=byte, dtype=dtype)
