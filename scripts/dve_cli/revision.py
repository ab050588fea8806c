"""Which state of the sources a report is about."""

import subprocess
from pathlib import Path

HERE = Path(__file__)


def revision() -> str | None:
    """The commit of the checkout that runs, ``-dirty`` if files differ from it; None elsewhere."""
    try:
        _git("ls-files", "--error-unmatch", HERE.name)  # a checkout around an installed copy
        return _git("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    shown = subprocess.run(
        ["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=True
    )
    return shown.stdout.strip()
