"""RAM of a lane: 64-bit words with byte enables (isa_common.md 3.2).

Two forms with the same ports and the same behaviour: the portable one, which Amaranth's simulator
runs, and a Verilog primitive for export. Amaranth writes one line of Verilog for every word's
initial value, which for the memories of a lane means megabytes; the primitive says it in one.
"""

from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

WORD_BITS = 64
BYTES = WORD_BITS // 8


class Ram(wiring.Component):
    """One write port and one or two read ports; all synchronous, contents start as zero.

    Latency: data one clock after its address. A read of a word in the clock in which it is
    written gives the old word.

    Parameters
    ----------
    depth : int
        Number of words.
    reads : int
        Number of read ports, 1 or 2.
    primitive : bool
        Instantiate the Verilog module of :func:`ram_verilog` instead of describing the array.

    Members
    -------
    write_address : In(ceil_log2(depth))
    write_data : In(64)
    write_enable : In(8)
        One bit a byte.
    read{0,1}_address : In(ceil_log2(depth))
    read{0,1}_data : Out(64)
    """

    def __init__(self, *, depth: int, reads: int, primitive: bool):
        if reads not in (1, 2):
            raise ValueError(f"reads must be 1 or 2, got {reads}")
        self.depth = depth
        self.reads = reads
        self.primitive = primitive
        address = ceil_log2(depth)
        ports = {
            "write_address": In(address),
            "write_data": In(WORD_BITS),
            "write_enable": In(BYTES),
        }
        for port in range(reads):
            ports[f"read{port}_address"] = In(address)
            ports[f"read{port}_data"] = Out(WORD_BITS)
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        read_ports = [
            (getattr(self, f"read{port}_address"), getattr(self, f"read{port}_data"))
            for port in range(self.reads)
        ]
        if self.primitive:
            ports = {
                "i_clk": ClockSignal(),
                "i_write_address": self.write_address,
                "i_write_data": self.write_data,
                "i_write_enable": self.write_enable,
            }
            for port, (address, word) in enumerate(read_ports):
                ports[f"i_read{port}_address"] = address
                ports[f"o_read{port}_data"] = word
            m.submodules.array = Instance(
                ram_module(self.reads),
                p_DEPTH=self.depth,
                p_ADDRESS_BITS=ceil_log2(self.depth),
                **ports,
            )
            return m

        m.submodules.words = words = memory.Memory(
            shape=unsigned(WORD_BITS), depth=self.depth, init=[]
        )
        write = words.write_port(granularity=8)
        m.d.comb += [
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write_enable),
        ]
        for address, word in read_ports:
            read = words.read_port()
            m.d.comb += [read.addr.eq(address), word.eq(read.data)]
        return m


def ram_module(reads: int) -> str:
    """Name of the primitive with that many read ports."""
    return f"dve_ram_{reads}r1w"


def ram_verilog(reads: int) -> str:
    """Verilog-2005 text of the primitive with that many read ports."""
    read_ports = "".join(
        f",\n  input [ADDRESS_BITS-1:0] read{port}_address,\n  output reg [63:0] read{port}_data"
        for port in range(reads)
    )
    lanes = "\n".join(
        f"    if (write_enable[{byte}]) "
        f"words[write_address][{8 * byte + 7}:{8 * byte}] <= write_data[{8 * byte + 7}:{8 * byte}];"
        for byte in range(BYTES)
    )
    samples = "\n".join(
        f"    read{port}_data <= words[read{port}_address];" for port in range(reads)
    )
    return f"""\
module {ram_module(reads)} #(parameter DEPTH = 2, parameter ADDRESS_BITS = 1) (
  input clk,
  input [ADDRESS_BITS-1:0] write_address,
  input [63:0] write_data,
  input [7:0] write_enable{read_ports}
);
  reg [63:0] words [0:DEPTH-1];
  // Block RAM powers up as zero, and a synthesizer would spend minutes on unrolling this.
`ifndef SYNTHESIS
  integer word;
  initial for (word = 0; word < DEPTH; word = word + 1) words[word] = 64'd0;
`endif
  always @(posedge clk) begin
{lanes}
{samples}
  end
endmodule
"""
