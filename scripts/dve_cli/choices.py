"""Options that name one or more of a fixed set."""

from collections.abc import Iterable, Sequence

from dve_cli.errors import UserError


def known(option: str, names: Sequence[str], choices: Iterable[str]) -> Sequence[str]:
    """The names, all of which must be among the choices.

    Raises
    ------
    UserError
        Naming the first that is not, and the choices.
    """
    choices = list(choices)
    for name in names:
        if name not in choices:
            raise UserError(f"{option}: there is no {name}; choose from {', '.join(choices)}")
    return names
