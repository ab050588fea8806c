"""Steps inside the simulator: the host moves operands and results while the engine executes."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Event
from dve_rtl.host import Space
from numpy.typing import NDArray

from dve_cosim.driver import HostPort, RecordSource
from dve_cosim.transfers import Transfers, extent_bytes, extent_places, image_words


@dataclass(frozen=True)
class LoadedStep:
    """A step of `dve_golden.batchnorm.step`, as the simulator gets it."""

    program: bytes
    transfers: Transfers


class SideBySide:
    """The host's side of a run in steps, one thread of control beside the engine's.

    While a program executes, the host reads the results of the one before it, then places the
    images of the one after it, then offers that one's records: the engine begins it as soon as it
    is done. Nobody waits for anything else.

    Parameters
    ----------
    host : HostPort
    records : RecordSource
    lanes : int
    complete : callable
        Receives the completions of a program whose records are offered.
    now : callable
        The present clock.
    """

    def __init__(
        self,
        host: HostPort,
        records: RecordSource,
        lanes: int,
        *,
        complete: Callable[[bytes], Coroutine[Any, Any, NDArray[np.uint32]]],
        now: Callable[[], int],
    ) -> None:
        self._host = host
        self._records = records
        self._lanes = lanes
        self._complete = complete
        self._now = now

    async def run(
        self,
        steps: Sequence[LoadedStep],
        within: Callable[[Awaitable[None], str, int], Awaitable[None]],
    ) -> tuple[NDArray[np.uint32], dict[str, NDArray]]:
        """All completions, and arrays by name: clocks of the transfers, and the results.

        ``within`` awaits a transfer, given what it is and the number of its step, or fails if it
        takes too long.
        """
        placed, done = [Event() for _ in steps], [Event() for _ in steps]
        completions: list[NDArray[np.uint32]] = []
        writes, reads = np.zeros((2, len(steps), 2), np.int64)
        found: dict[str, NDArray] = {"writes": writes, "reads": reads}

        async def offer() -> None:
            for step, event in zip(steps, placed, strict=True):
                await event.wait()
                await self._records.send(step.program)

        async def execute() -> None:
            for step, begun, ended in zip(steps, placed, done, strict=True):
                await begun.wait()
                completions.append(await self._complete(step.program))
                ended.set()

        async def place(number: int) -> None:
            with self._clocked(writes[number]):
                await within(self._write(steps[number].transfers), "placing of operands", number)
            placed[number].set()

        cocotb.start_soon(offer())
        executing = cocotb.start_soon(execute())
        await place(0)
        for number, step in enumerate(steps):
            if number + 1 < len(steps):
                await place(number + 1)
            await done[number].wait()
            with self._clocked(reads[number]):
                reading = self._read(number, step.transfers, found)
                await within(reading, "reading of results", number)
        await executing
        return np.concatenate(completions), found

    @contextmanager
    def _clocked(self, span: NDArray[np.int64]) -> Iterator[None]:
        span[0] = self._now()
        yield
        span[1] = self._now()

    async def _write(self, transfers: Transfers) -> None:
        for image in transfers.images:
            for (row, word), data, enable in image_words(image, self._lanes):
                await self._host.write(Space.SBUF, row, word, data, enable)

    async def _read(self, number: int, transfers: Transfers, found: dict[str, NDArray]) -> None:
        for at, extent in enumerate(transfers.results):
            places = extent_places(extent, self._lanes)
            words = await self._host.read((Space.SBUF, row, word) for row, word in places)
            found[f"result_{number}_{at}"] = extent_bytes(extent, self._lanes, words)
