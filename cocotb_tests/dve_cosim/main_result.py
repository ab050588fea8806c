"""What the main job starts from and what it finds."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from dve_golden.batchnorm import Gradients, Layer
from dve_golden.isa.enums import MAX_CHANNELS, Dtype, Opcode
from dve_golden.isa.notation import MNEMONICS
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.schedule import utilisation
from dve_cosim.traffic import HostCycles


@dataclass(frozen=True, eq=False)
class Workload:
    """A layer, and what is known about it.

    Parameters
    ----------
    source : str
        Where its arrays came from.
    layer : Layer
        Checked operands.
    framework : Gradients, optional
        The same gradients as another implementation computed them, to measure beside ours.
    bound_log2 : float, optional
        Largest relative error that this layer's gradients are promised to have, as a power of
        two; see `dve_golden.batchnorm.accuracy`.
    """

    source: str
    layer: Layer
    framework: Gradients | None = None
    bound_log2: float | None = None


@dataclass(frozen=True)
class Executed:
    """One instruction on the RTL.

    Parameters
    ----------
    batch : int
        Number of the simulator run.
    record : bytes
        Its 64 bytes.
    reason : int
        0 if executed.
    cycles : int
        Clock cycles since the later of its last beat and the previous completion.
    """

    batch: int
    record: bytes
    reason: int
    cycles: int

    @property
    def opcode(self) -> Opcode:
        return Opcode(self.record[0])

    @property
    def name(self) -> str:
        return MNEMONICS[self.opcode]


class Share(NamedTuple):
    """What one kind of instruction has in a program."""

    name: str
    count: int
    cycles: int


@dataclass(frozen=True, eq=False)
class GradientErrors:
    """Errors of one gradient against float64.

    Parameters
    ----------
    dtype : Dtype
        Format whose ulp is meant.
    ulp : float64 array
        One error per element.
    relative : float
        Largest error relative to its scale; see `dve_golden.batchnorm.accuracy`.
    """

    dtype: Dtype
    ulp: NDArray[np.float64]
    relative: float

    @property
    def max_ulp(self) -> float:
        return float(self.ulp.max())

    @property
    def p999_ulp(self) -> float:
        """The smallest error that at least 99.9 % of the elements do not exceed."""
        return float(np.quantile(self.ulp, 0.999, method="inverted_cdf"))


@dataclass(frozen=True, eq=False)
class MainResult:
    """What the main job found.

    Parameters
    ----------
    workload : Workload
    config : EngineConfig
    mean_coupling : bool
    on_engine : bool
        Whether the engine formed the coefficients.
    seed : int
    gradients : Gradients
        As computed; golden's, which are the RTL's unless bits differ.
    errors : dict
        Errors by gradient.
    framework_errors : dict
        The same of the workload's other implementation; empty if there is none.
    instructions : list of Executed
        In order.
    assembly : str
        Their text.
    host : HostCycles
        Transfers of the host, and how far they are hidden.
    elements : int
        Elements through the datapath: channels times count of each GradAccum and BackProp.
    differing_bits : int
        Between the two whole states, completion lists and results that the host read, added over
        the runs; each run starts from equal states.
    first_differences : list of str
        The first few, one line each.
    seconds : dict
        Wall time by step.
    """

    workload: Workload
    config: EngineConfig
    mean_coupling: bool
    on_engine: bool
    seed: int
    gradients: Gradients
    errors: dict[str, GradientErrors]
    framework_errors: dict[str, GradientErrors]
    instructions: list[Executed]
    assembly: str
    host: HostCycles
    elements: int
    differing_bits: int
    first_differences: list[str]
    seconds: dict[str, float]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of x, dy and d_x."""
        return self.workload.layer.x.shape

    @property
    def dtype(self) -> Dtype:
        """Storage format of x, dy and d_x."""
        return self.workload.layer.dtype

    @property
    def cycles(self) -> int:
        """Clock cycles of all instructions."""
        return sum(instruction.cycles for instruction in self.instructions)

    @property
    def mix(self) -> list[Share]:
        """Instructions and cycles by mnemonic, in the order in which they first occur."""
        found: dict[str, Share] = {}
        for done in self.instructions:
            _, count, cycles = found.get(done.name, Share(done.name, 0, 0))
            found[done.name] = Share(done.name, count + 1, cycles + done.cycles)
        return list(found.values())

    @property
    def utilisation(self) -> dict[str, float]:
        """Share of the clocks with an element slot, and of those in which each unit works.

        What is left of the slots is the share of fixed costs.
        """
        return utilisation(self.config, ((done.record, done.cycles) for done in self.instructions))

    @property
    def bound_cycles(self) -> int:
        """Fewest cycles of two passes over the data, one element per lane and clock.

        Channels that do not fill the lanes are counted as if they did: no program could use the
        others.
        """
        layer, lanes = self.workload.layer, self.config.lanes
        tiles = range(0, layer.channels, MAX_CHANNELS)
        groups = sum(-(-min(MAX_CHANNELS, layer.channels - tile) // lanes) for tile in tiles)
        return 2 * groups * layer.elements

    @property
    def elements_per_lane_cycle(self) -> float:
        """``elements`` over lanes times cycles, with every instruction's cycles: 1 is the peak.

        Idle lanes count: 1 channel on 8 lanes reaches 1/8 at most.
        """
        return self.elements / (self.config.lanes * self.cycles)
