# amaranth: UnusedElaboratable=no
"""RAM and element selection, against a byte array."""

import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_rtl.memory.load import Load
from dve_rtl.memory.ram import Ram, ram_module, ram_verilog


@pytest.mark.parametrize("reads", [1, 2])
def test_ram_writes_enabled_bytes_and_reads_the_old_word_on_collision(reads):
    dut = Ram(depth=8, reads=reads, primitive=False)
    rng = random.Random(reads)
    model = [[0] * 8 for _ in range(8)]

    async def bench(ctx):
        for _ in range(300):
            address, enable = rng.randrange(8), rng.randrange(256)
            word = rng.randbytes(8)
            wanted = []
            for port in range(reads):
                read = address if rng.random() < 0.3 else rng.randrange(8)
                ctx.set(getattr(dut, f"read{port}_address"), read)
                wanted.append(bytes(model[read]))
            ctx.set(dut.write_address, address)
            ctx.set(dut.write_data, int.from_bytes(word, "little"))
            ctx.set(dut.write_enable, enable)
            await ctx.tick()
            for port, want in enumerate(wanted):
                got = ctx.get(getattr(dut, f"read{port}_data")).to_bytes(8, "little")
                assert got == want
            for byte in range(8):
                if enable >> byte & 1:
                    model[address][byte] = word[byte]

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


def test_ram_has_one_or_two_read_ports():
    with pytest.raises(ValueError, match="reads must be 1 or 2, got 3"):
        Ram(depth=8, reads=3, primitive=False)


def test_ram_primitive_has_the_ports_of_the_component():
    for reads in (1, 2):
        text = ram_verilog(reads)
        assert f"module {ram_module(reads)} " in text
        ram = Ram(depth=8, reads=reads, primitive=True)
        instance = rtlil.convert(ram)
        for name in ram.signature.members:
            assert re.search(rf"\b{name}\b", text)
            assert f"connect \\{name} " in instance


@pytest.mark.parametrize("psum", [0, 1])
def test_load_picks_every_aligned_element_of_every_type(psum):
    dut = Load()
    words = [bytes(range(0x10, 0x18)), bytes(range(0xF0, 0xF8))]

    async def bench(ctx):
        ctx.set(dut.sbuf, int.from_bytes(words[0], "little"))
        ctx.set(dut.psum, int.from_bytes(words[1], "little"))
        for dtype, size in DTYPE_BYTES.items():
            if size == 8:
                continue
            for byte in range(0, 8, size):
                ctx.set(dut.control, {"psum": psum, "byte": byte, "dtype": dtype})
                await ctx.tick()
                want = int.from_bytes(words[psum][byte : byte + size], "little")
                assert ctx.get(dut.o) == want, (Dtype(dtype).name, byte)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
