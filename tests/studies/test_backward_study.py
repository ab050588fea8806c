"""The study of the backward pass as published: measured again, its bound, model and command."""

import math
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from dve_golden.batchnorm import Layer, backward, reference
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.isa.enums import Dtype
from dve_studies.backward import results, tables
from dve_studies.backward.cases import COUNTS, TYPICAL, Case, cases
from dve_studies.backward.narrow_form import narrow_gradients
from dve_studies.backward.study import run

REWRITE = "run: .venv/bin/python -m dve_studies.backward --out docs/studies"
PUBLISHED = results.published()


def test_measurements_are_what_the_code_measures():
    again = results.loads(results.dumps(run(TYPICAL)))
    shown = [case for case in PUBLISHED if case.count <= TYPICAL]
    assert [case.case for case in again] == [case.case for case in shown]
    for got, want in zip(again, shown, strict=True):
        for way in ("engine", "host", "narrow", "narrow_product"):
            for name, value in asdict(getattr(want, way)).items():
                found = asdict(getattr(got, way))[name]
                assert math.isclose(found, value, rel_tol=2e-3), f"{want.case}: {way}; {REWRITE}"


def test_all_cases_are_published():
    assert [case.case for case in PUBLISHED] == [case.name for case in cases()]
    assert {case.count for case in PUBLISHED} >= set(COUNTS)


def test_fp32_inputs_keep_the_bound():
    """2^-20 of the scale of the terms, on every case; sums do so in bf16 too."""
    for case in PUBLISHED:
        bounded = (case.engine.d_gamma, case.engine.d_beta)
        bounded += (case.engine.d_x,) if case.dtype == "fp32" else ()
        assert max(bounded) <= 2.0**-20, case.case
    assert sum(case.dtype == "fp32" for case in PUBLISHED) > 20


@pytest.mark.parametrize("on_engine", [True, False])
def test_channel_that_misses_the_bound(on_engine):
    """d_beta is 31 times sum|dy x_norm|, and the rounding of S comes with it; see the page."""
    x = np.array([[0.89372635], [1.6694676], [0.14644772]], np.float32)
    dy = np.array([[1.8414209], [-0.01729397], [0.00712988]], np.float32)
    exact = x.astype(np.float64)
    layer = Layer.from_arrays(dy, x, exact.mean(0), [1], var=exact.var(0), eps=1e-5)
    got = backward(**layer.arguments(), on_engine=on_engine)
    found = relative_errors(layer, got, reference(layer))
    assert 2.0**-20 < found.d_gamma < 2.0**-19.9
    assert max(found.d_x, found.d_beta) < 2.0**-20


def test_model_rounds_where_the_kernel_does():
    """Operands that bf16 holds: the fp32 product is exact, the narrow one is not."""
    x = np.array([[1.0], [3.0], [1 + 2.0**-7], [3 - 2.0**-7]], np.float32)
    dy = np.array([[1.0], [1 + 2.0**-7], [-1.0], [2.0]], np.float32)
    layer = Layer.from_arrays(dy, x, [2], [2], inv_std=[1])
    exact = reference(layer)
    wide, narrow = narrow_gradients(layer), narrow_gradients(layer, product=Dtype.BF16)
    assert wide.d_gamma.tolist() == exact.d_gamma.tolist()
    # Two products need nine bits and are ties: 3 + 3 * 2^-7 and 6 - 2^-6 go up by half an ulp.
    assert narrow.d_gamma[0] - exact.d_gamma[0] == 2.0**-7 + 2.0**-6
    found = relative_errors(layer, wide, exact).d_x
    assert 2.0**-12 < found < 2.0**-7


def test_cases_are_what_they_say():
    layer = Case("far", 64, 10_000, gamma=1e3).layer()
    assert layer.x.shape == (64, 128)
    assert abs(layer.x.mean() - 10_000) < 1
    assert set(np.abs(layer.gamma)) == {1000}
    still = Case("still", constant=True, deviations=3).layer()
    assert np.ptp(still.x) == 0
    assert np.allclose(still.inv_std, 1 / np.sqrt(1e-5))
    assert Case("bias", bias=5).layer().dy.mean() > 4


def test_tables_have_every_case():
    headings, rows = tables.errors(PUBLISHED)
    assert len(rows) == len(PUBLISHED)
    assert {len(row) for row in rows} == {len(headings)}
    assert tables.own(PUBLISHED).rows[-1][0] == "10,000"


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--out", "absent"], "--out absent is not a directory"), (["--fast"], "No such option")],
)
def test_bad_options_are_one_line(tmp_path, options, message):
    done = subprocess.run(
        [sys.executable, "-m", "dve_studies.backward", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
