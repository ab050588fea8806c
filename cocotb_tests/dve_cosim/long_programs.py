"""Twenty programs of more work, or further in the corners, than random ones come to."""

from __future__ import annotations

from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble

from dve_cosim.places import has_psum

_IMMEDIATES = "imm0=sbuf[0:0x3f8] imm1=sbuf[0:0x3fc] imm_dtype=fp32"
_ELSEWHERE = "imm0=psum[0:0x1f8] imm1=psum[0:0x1fc] imm_dtype=fp32"

_COUNTS_OF_ELEMENTS = (
    "0.0", "-0.0", "1.0", "-1.0", "0.5", "255.0", "256.0", "65535.0", "1.401298464324817e-45",
    "1.1754943508222875e-38", "8.507059173023462e+37", "3.4028234663852886e+38",
)  # fmt: skip

_APPLY = "back_prop channels=128 src0=sbuf[0:0x0]:fp32:8 src1=psum[0:0x20]:bf16:8"

_ENDS_OF_QUADRANTS = (
    (1, 96, 32), (31, 32, 96), (32, 64, 0), (32, 96, 96), (33, 64, 0), (63, 0, 64), (64, 64, 64),
    (65, 0, 0), (127, 0, 0), (128, 0, 0),
)  # fmt: skip
"""Channels, first partition of the sources and of the destination."""

_TEXTS: dict[str, str] = {
    # the largest count in each dimension, in which every step but 0 leaves the partition
    "sums of 65535 in the inner dimension": f"""
        grad_accumulate channels=1 src0=sbuf[0:0x0]:fp32:65535@0 src1=sbuf[0:0x4]:fp32:65535@0 \\
            dst=sbuf[0:0x3f4]:fp32:3 {_IMMEDIATES}
    """,
    "sums of 65535 in the middle dimension": f"""
        grad_accumulate2 channels=1 src0=sbuf[96:0x3fe]:bf16:1x65535@-32768,0 \\
            src1=psum[96:0x1fe]:fp16:65535@0 dst=psum[0:0x0]:fp32:3@0 {_ELSEWHERE}
    """,
    "gradients of 65535 in the outer dimension, on one element": """
        back_prop channels=1 src0=sbuf[64:0x0]:int32:1x1x65535@1,1,0 \\
            src1=psum[64:0x1fc]:fp32:65535@0 dst=sbuf[0:0x3fc]:fp32r:1x65535@7,0
    """,
    "65535 in three dimensions that shrink the work to 5 elements": """
        back_prop channels=1 src0=sbuf[0:0x0]:fp32:3x5x4369@0,1,0 \\
            src1=sbuf[0:0x3fc]:fp32:4369x5x3@0,-1,0 dst=sbuf[32:0x80]:bf16:5x4369x3@-2,0,0
    """,
    "65535 as 255 by 257, backwards": f"""
        grad_accumulate channels=1 src0=sbuf[0:0x1fc]:fp16:255x257@-1,1 \\
            src1=sbuf[0:0x3fe]:bf16:257x255@-1,-1 dst=sbuf[0:0x0]:fp16:3@0 {_IMMEDIATES}
    """,
    "every element reads what the one before it wrote": """
        param_load2 channels=1 src=sbuf[0:0x0]:fp32:2 imm0=sbuf[0:0x8] imm1=sbuf[0:0xc] \\
            imm_dtype=fp32 element_count=3.0
        back_prop channels=1 src0=sbuf[0:0x10]:fp32:20000@0 src1=sbuf[0:0x10]:fp32:20000@0 \\
            dst=sbuf[0:0x10]:fp32:20000@0
    """,
    # whole partitions on all channels
    "sums over all bytes, forwards and backwards": f"""
        grad_accumulate channels=128 src0=sbuf[0:0x0]:fp16:512 src1=sbuf[0:0x3fe]:bf16:512@-1 \\
            dst=psum[0:0x1f4]:fp32:3 {_ELSEWHERE}
    """,
    "sums over all words, written over them": f"""
        grad_accumulate2 channels=128 src0=sbuf[0:0x0]:fp32:16x16 \\
            src1=sbuf[0:0x3c0]:int32:16x16@1,-16 dst=sbuf[0:0x3fc]:fp32:3@-127 {_IMMEDIATES}
    """,
    "all halfwords in place": """
        back_prop channels=128 src0=sbuf[0:0x0]:bf16:512 src1=sbuf[0:0x0]:bf16:512 \\
            dst=sbuf[0:0x0]:fp16:512
        tensor_tensor channels=128 op=absolute_diff src0=sbuf[0:0x0]:fp16:512 \\
            src1=sbuf[0:0x0]:bf16:512 dst=sbuf[0:0x0]:int16:512
    """,
    "all words of both memories, into PSUM in place": """
        back_prop channels=128 src0=sbuf[0:0x3fc]:int32:128@-2 src1=psum[0:0x0]:fp32:128 \\
            dst=psum[0:0x0]:fp32r:128
    """,
    "one element ahead: every write is read by the next element": """
        back_prop channels=64 src0=sbuf[64:0x0]:fp32:255 src1=sbuf[64:0x3fc]:fp32:255@0 \\
            dst=sbuf[64:0x4]:fp32:255
        tensor_tensor_bitvec channels=64 op=bitwise_xor src0=sbuf[64:0x0]:uint8:1023 \\
            src1=sbuf[64:0x3ff]:uint8:1023@0 dst=sbuf[64:0x1]:uint8:1023
    """,
    "one element behind: no write is ever read": """
        back_prop channels=128 src0=sbuf[0:0x4]:fp32:255 src1=psum[0:0x0]:fp16:255 \\
            dst=sbuf[0:0x0]:fp32:255
    """,
    "odd elements from even ones": """
        back_prop channels=128 src0=sbuf[0:0x0]:bf16:256@2 src1=sbuf[0:0x0]:bf16:256@2 \\
            dst=sbuf[0:0x2]:bf16:256@2
    """,
    "halfwords into words, in front of and behind the reader": """
        back_prop channels=128 src0=sbuf[0:0x0]:fp16:256 src1=sbuf[0:0x3fe]:fp16:256@-1 \\
            dst=sbuf[0:0x0]:fp32:256
        cast_predicated channels=128 src0=sbuf[0:0x3ff]:int8:256@-1 \\
            src1=sbuf[0:0x0]:fp8_exp4:256 dst=sbuf[0:0x0]:fp32:256
    """,
    # parameters at their ends
    "every odd number of elements": "\n".join(
        f"param_load channels=128 src=psum[0:0x0]:fp32:1x3 imm0=sbuf[0:0x3fc] imm1={count}\n"
        f"{_APPLY} dst=sbuf[0:{32 * number + 0x40:#x}]:fp32:8"
        for number, count in enumerate(_COUNTS_OF_ELEMENTS)
    ),
    "all entries of the Parameter RAM, and both its ends": f"""
        load_parameter_ram addr=sbuf[32:0x0]:fp32 first_entry=0 entry_count=256
        param_load channels=64 src=sbuf[64:0x3f8]:fp16:3 imm0=sbuf[0:0x0] imm1=1.0
        {_APPLY} dst=sbuf[0:0x100]:fp32:8
        param_load channels=64 src=sbuf[0:0x3fa]:bf16:3 imm0=psum[64:0x1fc] imm1=255.0
        {_APPLY} dst=sbuf[0:0x200]:fp32:8
    """,
    "one entry at a time, changed between load and use": f"""
        param_load channels=128 src=sbuf[0:0x0]:fp32:3 imm0=sbuf[0:0xc] imm1=128.0
        load_parameter_ram addr=psum[96:0x0]:fp32 first_entry=128 entry_count=128
        {_APPLY} dst=sbuf[0:0x100]:fp16:8
        load_parameter_ram addr=sbuf[0:0x3fc]:fp32 first_entry=128 entry_count=1
        load_parameter_ram addr=sbuf[96:0x3fc]:fp32 first_entry=255 entry_count=1
        load_parameter_ram addr=sbuf[64:0x0]:fp32 first_entry=0 entry_count=1
        {_APPLY} dst=sbuf[0:0x200]:bf16:8
    """,
    # sums of every length about the eight partials of the fold
    "sums of 1 to 17 elements": "\n".join(
        f"aggregate channels=32 src=psum[64:0x0]:fp32:3x{length}"
        f" dst=sbuf[32:{8 * length:#x}]:fp32:2"
        for length in range(1, 18)
    )
    + "\n"
    + "\n".join(
        f"grad_accumulate2 channels=32 src0=sbuf[96:0x0]:fp32:{length}"
        f" src1=sbuf[96:0x80]:bf16:{length}@-1 dst=sbuf[0:{12 * length:#x}]:fp32:3 {_IMMEDIATES}"
        for length in range(1, 18)
    ),
    # across quadrants, with the number of channels about their ends
    "channels about the ends of quadrants": "\n".join(
        f"back_prop channels={channels} src0=sbuf[{first}:0x0]:fp32:5"
        f" src1=sbuf[{first}:0x100]:fp16:5 dst=sbuf[{last}:0x200]:fp32:5@-3"
        for channels, first, last in _ENDS_OF_QUADRANTS
    ),
    # what each instruction reads, the one before it has just written
    "a chain through memory and lane state": f"""
        stats2 channels=128 src=psum[0:0x0]:fp16:2x8x2x8@1,4,2,32 even_count=128.0 \\
            odd_count=128.0 dst=sbuf[0:0x100]:fp32:6
        stats channels=128 src=psum[0:0x0]:bf16:256 even_count=256.0 dst=sbuf[0:0x118]:fp32:3
        aggregate channels=128 src=sbuf[0:0x100]:fp32:9 dst=sbuf[0:0x104]:fp32:2
        grad_accumulate channels=128 src0=sbuf[0:0x0]:fp32:32 src1=sbuf[0:0x80]:fp32:32 \\
            dst=sbuf[0:0x200]:fp32:3 {_IMMEDIATES}
        param_load2 channels=128 src=sbuf[0:0x200]:fp32:2 imm0=sbuf[0:0x208] \\
            imm1=sbuf[0:0x204] imm_dtype=fp32 element_count=32.0
        back_prop channels=128 src0=sbuf[0:0x0]:fp32:32 src1=sbuf[0:0x80]:fp32:32 \\
            dst=sbuf[0:0x3f8]:fp32:32@-1
        load_parameter_ram addr=sbuf[0:0x380]:fp32 first_entry=1 entry_count=32
        back_prop channels=128 src0=sbuf[0:0x3f8]:fp32:32@-1 src1=sbuf[0:0x37c]:fp32:32 \\
            dst=sbuf[0:0x3fc]:fp32:32@-1
        grad_accumulate2 channels=128 src0=sbuf[0:0x3fc]:fp32:32@-1 src1=sbuf[0:0x380]:fp32:32 \\
            dst=sbuf[0:0x3f4]:fp32:3 imm0=sbuf[0:0x3f4] imm1=sbuf[0:0x3fc] imm_dtype=int32
    """,
}


def long_programs(generation: Generation) -> dict[str, bytes]:
    """Legal programs by what they are about; they want 1,024 bytes of SBUF and 512 of PSUM.

    Where there is no PSUM, they use the same bytes of SBUF instead.
    """
    texts = _TEXTS
    if not has_psum(generation):
        texts = {name: text.replace("psum[", "sbuf[") for name, text in texts.items()}
    return {name: assemble(text, generation) for name, text in texts.items()}
