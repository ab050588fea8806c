"""Random records of S3S3D3_TT and their mutants: the validator and the golden model agree."""

from itertools import islice

import numpy as np
import pytest
from dve_cosim.mutants import mutants
from dve_cosim.reference import geometry_of
from dve_golden.isa.generations import Generation
from frontend_bench import agreed_reasons, whole
from tensor_tensor_records import TensorTensorRecords

RECORDS = 200
MUTANTS = 100


@pytest.mark.parametrize("generation", Generation)
def test_reasons_are_those_of_the_golden_model(generation):
    rng = np.random.default_rng([6, list(Generation).index(generation)])
    config, registers = whole(generation), np.zeros(64, np.uint32)
    geometry = geometry_of(config)
    source = TensorTensorRecords(rng, geometry)
    records = [source.next() for _ in range(RECORDS)]
    # The first mutant fills the registers, which the records before it name, too.
    records += islice(mutants(rng, b"".join(records), registers, generation=generation), MUTANTS)
    reasons = agreed_reasons(records, registers, config)
    legal = [data[0] for data, reason in zip(records, reasons, strict=True) if not reason]
    assert set(legal) == set(source.opcodes)
    assert len(legal) > RECORDS // 5
    assert len(set(reasons)) > 10
