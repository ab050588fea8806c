"""Bench endpoints for the streams of an Amaranth design, and for the ports of the engine.

A transfer happens at a rising clock edge at which valid and ready are both 1. Under cocotb a
read after ``RisingEdge(clk)`` sees the values before the edge, and a write takes effect after
it, so an endpoint looks at the edge itself. Between edges it sleeps on the signal that it waits
for rather than on the clock: the clock runs inside the simulator, and a wake-up of Python costs
as much as the simulation of several cycles.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from dve_golden.isa.control import CONTROL_WORDS
from dve_golden.isa.enums import (
    EVENTS,
    MAX_CHANNELS,
    PARAMETER_RAM_ENTRIES,
    RECORD_BYTES,
    REGISTERS,
    SEMAPHORES,
)
from dve_rtl.config import EngineConfig
from dve_rtl.host import Space
from dve_rtl.payloads import SyncAction
from numpy.typing import NDArray

from dve_cosim.engine import (
    completion_packing,
    host_request_packing,
    register_request_packing,
    sync_request_packing,
)
from dve_cosim.state import LANE_STATE

Pauses = Iterable[int]
"""Clock cycles to hold back each transfer, one number per transfer."""

NO_PAUSES: Pauses = repeat(0)

_SHORT, _LONG = 8, 160
"""Longest pauses in cycles: those that fall within an instruction, those that let it drain."""

_LONG_SHARE = 1 / 8


def random_pauses(seed: int | str, *, share: float = 0.5) -> Iterator[int]:
    """Endless pauses: none with probability ``1 - share``, mostly short ones, a few long ones."""
    generator = random.Random(seed)
    while True:
        if generator.random() >= share:
            yield 0
        else:
            yield generator.randint(1, _LONG if generator.random() < _LONG_SHARE else _SHORT)


class StreamSource:
    """Drives a stream that flows into the design.

    Parameters
    ----------
    dut
        Handle of the top.
    name : str
        Port name; the signals are ``<name>__payload``, ``__valid`` and ``__ready``.
    pauses : Pauses
        Gaps before each word, counted from the word before it.
    """

    def __init__(self, dut: Any, name: str, *, pauses: Pauses = NO_PAUSES) -> None:
        self._payload = getattr(dut, f"{name}__payload")
        self._valid = getattr(dut, f"{name}__valid")
        self._ready = getattr(dut, f"{name}__ready")
        self._edge = RisingEdge(dut.clk)
        self._became_ready = RisingEdge(self._ready)
        self._pauses = iter(pauses)
        self._valid.value = 0

    async def send(self, word: int) -> None:
        """Offer one word until it is accepted; returns at that clock edge."""
        for _ in range(next(self._pauses)):
            await self._edge
        self._payload.value = word
        self._valid.value = 1
        await self._edge
        while not self._ready.value:
            await self._became_ready
            await self._edge
        self._valid.value = 0


class StreamSink:
    """Accepts the words of a stream that flows out of the design.

    ``ready`` is 1 only while somebody receives, so that no word is lost.

    Parameters
    ----------
    dut, name
        As in `StreamSource`.
    pauses : Pauses
        Back-pressure on each word, counted from the moment at which it waits; a word that is not
        held back finds ``ready`` at 1.
    """

    def __init__(self, dut: Any, name: str, *, pauses: Pauses = NO_PAUSES) -> None:
        self._payload = getattr(dut, f"{name}__payload")
        self._valid = getattr(dut, f"{name}__valid")
        self._ready = getattr(dut, f"{name}__ready")
        self._edge = RisingEdge(dut.clk)
        self._became_valid = RisingEdge(self._valid)
        self._pauses = iter(pauses)
        self._ready.value = 0

    async def receive(self) -> int:
        """The next word; returns at the clock edge of its transfer."""
        pause = next(self._pauses)
        if not pause:
            self._ready.value = 1
        await self._await_valid()
        if pause:
            for _ in range(pause):
                await self._edge
            self._ready.value = 1
            await self._edge
        self._ready.value = 0
        return self._payload.value.to_unsigned()

    async def _await_valid(self) -> None:
        """Return at the first clock edge at which a word waits."""
        await self._edge
        while not self._valid.value:
            await self._became_valid
            await self._edge


class RecordSource:
    """Sends 64-byte records as beats, the first carrying byte 0 in its lowest bits."""

    def __init__(self, dut: Any, config: EngineConfig, *, pauses: Pauses = NO_PAUSES) -> None:
        self._stream = StreamSource(dut, "instruction", pauses=pauses)
        self._beat_bytes = config.beat_bits // 8

    async def send(self, program: bytes) -> None:
        """Send every record of a program; returns when the last beat is accepted."""
        assert len(program) % RECORD_BYTES == 0
        for at in range(0, len(program), self._beat_bytes):
            beat = program[at : at + self._beat_bytes]
            await self._stream.send(int.from_bytes(beat, "little"))


class Completion(NamedTuple):
    """One word of the completion stream."""

    sequence: int
    opcode: int
    reason: int
    cycles: int


class CompletionSink:
    """Receives completions."""

    def __init__(self, dut: Any, *, pauses: Pauses = NO_PAUSES) -> None:
        self._stream = StreamSink(dut, "completion", pauses=pauses)
        self._packing = completion_packing()

    async def receive(self) -> Completion:
        """The next completion."""
        return Completion(**self._packing.unpack(await self._stream.receive()))


class HostPort:
    """The memory port: one word of every lane in a row of partitions at a time."""

    _LANE_BYTES = 8

    def __init__(
        self,
        dut: Any,
        config: EngineConfig,
        *,
        request_pauses: Pauses = NO_PAUSES,
        response_pauses: Pauses = NO_PAUSES,
    ) -> None:
        self._requests = StreamSource(dut, "host_request", pauses=request_pauses)
        self._responses = StreamSink(dut, "host_response", pauses=response_pauses)
        self._packing = host_request_packing(config)
        self._row_bytes = config.lanes * self._LANE_BYTES
        self._lanes = config.lanes
        self._groups = config.groups

    async def write(
        self, space: Space, row: int, word: int, data: bytes, enable: int | None = None
    ) -> None:
        """Write the 8 bytes of every lane; ``enable`` has one bit per byte, default all."""
        assert len(data) == self._row_bytes
        request = self._packing.pack(
            data=int.from_bytes(data, "little"),
            byte_enable=(1 << self._row_bytes) - 1 if enable is None else enable,
            word=word,
            row=row,
            space=space.value,
            write=1,
        )
        await self._requests.send(request)

    async def read(self, addresses: Iterable[tuple[Space, int, int]]) -> list[bytes]:
        """Read the words at (space, row, word), requests and responses overlapping."""
        wanted = list(addresses)

        async def ask() -> None:
            for space, row, word in wanted:
                await self._requests.send(self._packing.pack(space=space.value, row=row, word=word))

        asking = cocotb.start_soon(ask())
        words = [
            (await self._responses.receive()).to_bytes(self._row_bytes, "little") for _ in wanted
        ]
        await asking
        return words

    async def read_lane_state(self) -> NDArray[np.float32]:
        """N, mean, A, B, C of every channel, float32 [128, 5]."""
        words = await self.read(
            (Space.STATE, row, word)
            for row in range(self._groups)
            for word in range(len(LANE_STATE))
        )
        values = np.frombuffer(b"".join(words), "<f4").reshape(
            self._groups, len(LANE_STATE), self._lanes, 2
        )
        return np.ascontiguousarray(
            values[..., 0].transpose(0, 2, 1).reshape(MAX_CHANNELS, len(LANE_STATE))
        )

    async def write_lane_state(
        self, values: NDArray[np.float32], *, held: NDArray[np.float32]
    ) -> None:
        """Set the lane state where its patterns differ from those that it holds."""
        shape = self._groups, self._lanes, len(LANE_STATE)
        rows = values.view(np.uint32).reshape(shape)
        differs = rows != held.view(np.uint32).reshape(shape)
        for row, word in np.argwhere(differs.any(axis=1)):
            data = rows[row, :, word].astype("<u8").tobytes()
            await self.write(Space.STATE, int(row), int(word), data)

    async def read_parameter_ram(self) -> NDArray[np.float32]:
        """The Parameter RAM, float32 [256]."""
        words = await self.read(
            (Space.PARAMETER_RAM, 0, entry) for entry in range(PARAMETER_RAM_ENTRIES)
        )
        return np.frombuffer(b"".join(word[:4] for word in words), "<f4").astype(np.float32)

    async def write_parameter_ram(
        self, values: NDArray[np.float32], *, held: NDArray[np.float32]
    ) -> None:
        """Set the entries whose patterns differ from those that it holds."""
        patterns = values.view(np.uint32)
        for entry in np.flatnonzero(patterns != held.view(np.uint32)):
            data = int(patterns[entry]).to_bytes(self._row_bytes, "little")
            await self.write(Space.PARAMETER_RAM, 0, int(entry), data)

    async def read_control(self) -> NDArray[np.uint32]:
        """The control values, uint32 [7]."""
        words = await self.read((Space.CONTROL, 0, word) for word in range(len(CONTROL_WORDS)))
        return np.frombuffer(b"".join(word[:4] for word in words), "<u4").astype(np.uint32)

    async def write_control(self, values: NDArray[np.uint32], *, held: NDArray[np.uint32]) -> None:
        """Set the control values that differ from those that it holds."""
        for word in np.flatnonzero(values != held):
            data = int(values[word]).to_bytes(self._row_bytes, "little")
            await self.write(Space.CONTROL, 0, int(word), data)


class RegisterPort:
    """Reads and writes the address registers; only a read is answered."""

    def __init__(
        self,
        dut: Any,
        *,
        request_pauses: Pauses = NO_PAUSES,
        response_pauses: Pauses = NO_PAUSES,
    ) -> None:
        self._requests = StreamSource(dut, "register_request", pauses=request_pauses)
        self._responses = StreamSink(dut, "register_response", pauses=response_pauses)
        self._packing = register_request_packing()

    async def write(self, index: int, value: int) -> None:
        """Set one register."""
        await self._requests.send(self._packing.pack(index=index, write=1, value=value))

    async def read(self, index: int) -> int:
        """One register."""
        await self._requests.send(self._packing.pack(index=index))
        return await self._responses.receive()

    async def read_all(self) -> NDArray[np.uint32]:
        """All registers, uint32 [64]."""
        return np.array([await self.read(index) for index in range(REGISTERS)], np.uint32)

    async def write_all(self, values: NDArray[np.uint32], *, held: NDArray[np.uint32]) -> None:
        """Set the registers that differ from what they hold."""
        for index in np.flatnonzero(values != held):
            await self.write(int(index), int(values[index]))


class SyncPort:
    """Semaphores and events as another engine sees them; only a read is answered."""

    def __init__(
        self,
        dut: Any,
        *,
        request_pauses: Pauses = NO_PAUSES,
        response_pauses: Pauses = NO_PAUSES,
    ) -> None:
        self._requests = StreamSource(dut, "sync_request", pauses=request_pauses)
        self._responses = StreamSink(dut, "sync_response", pauses=response_pauses)
        self._packing = sync_request_packing()

    async def post(self, action: SyncAction, index: int, value: int = 0) -> None:
        """Set, add to or subtract from a semaphore; set or clear an event."""
        await self._requests.send(self._packing.pack(action=action.value, index=index, value=value))

    async def read(self, action: SyncAction, index: int) -> int:
        """One semaphore or event."""
        await self.post(action, index)
        return await self._responses.receive()

    async def read_semaphores(self) -> NDArray[np.uint32]:
        """All semaphores, uint32 [256]."""
        reads = [await self.read(SyncAction.READ_SEMAPHORE, k) for k in range(SEMAPHORES)]
        return np.array(reads, np.uint32)

    async def read_events(self) -> NDArray[np.uint8]:
        """All events, uint8 [256]."""
        reads = [await self.read(SyncAction.READ_EVENT, k) for k in range(EVENTS)]
        return np.array(reads, np.uint8)

    async def write_semaphores(
        self, values: NDArray[np.uint32], *, held: NDArray[np.uint32]
    ) -> None:
        """Set the semaphores that differ from what they hold."""
        for index in np.flatnonzero(values != held):
            await self.post(SyncAction.SET_SEMAPHORE, int(index), int(values[index]))

    async def write_events(self, values: NDArray[np.uint8], *, held: NDArray[np.uint8]) -> None:
        """Set or clear the events that differ from what they hold."""
        for index in np.flatnonzero(values != held):
            action = SyncAction.SET_EVENT if values[index] else SyncAction.CLEAR_EVENT
            await self.post(action, int(index))
