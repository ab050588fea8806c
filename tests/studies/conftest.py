"""What the golden machine has before the RTL has it, switched on for the study of training."""

from collections.abc import Iterator

import pytest
from dve_golden.frontend import legality
from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation, in_generation


@pytest.fixture(scope="module", autouse=True)
def pending_opcodes() -> Iterator[None]:
    """The golden machine executes every opcode that is described."""
    known = {
        generation: frozenset(int(code) for code in Opcode if in_generation(code, generation))
        for generation in Generation
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(legality, "_EXECUTED", known)
        yield
