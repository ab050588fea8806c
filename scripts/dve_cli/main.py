"""The ``dve`` command: its subcommands, and how it ends when something goes wrong."""

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module, metadata
from typing import Annotated, Any, NoReturn

import typer
from dve_cosim.errors import CosimError, WaitError
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from dve_cli.entry import INTERRUPTED
from dve_cli.errors import UserError
from dve_cli.interrupts import Terminated, raised_once

MARKUP = "markdown"

SUBCOMMANDS = {
    "cosim": "Run batch-norm backward of a real layer on the RTL and compare every bit.",
    "train": "Train a network whose batch norm runs on the engine, beside PyTorch's own.",
    "run": "Run a program and show how each instruction completed.",
    "asm": "Assemble a program: 64 bytes for each instruction.",
    "disasm": "Write a program as text, one instruction per line.",
    "lint": "Say for each instruction whether it is legal, "
    "or the reason with field, value and rule.",
    "fuzz": "Run random programs on the RTL and the golden model until a bit differs.",
    "mutants": "Make the engine wrong in one place at a time, and see whether the tests notice.",
    "arith": "Compare the arithmetic units with IEEE 754 in integers and with SoftFloat.",
    "prove": "Prove what the arithmetic units promise, for all operands.",
    "table": "Show what the front end of an engine knows, and what of it this engine executes.",
    "export": "Write the engine as one Verilog-2005 file, for any tool that reads that.",
    "synth": "Measure area and speed of the units on an FPGA, with open tools.",
    "doctor": "Show what this machine has of what OpenDVE needs.",
}
"""Name to first line of help. ``dve_cli.NAME`` defines a function ``NAME``: the subcommand."""

USER_ERROR = 2
WAITING = 3
"""The program ended in a wait that nothing ends."""

SIGNAL = 128
"""Plus a signal's number: as a shell reports a process that the signal ended."""

BROKEN_PIPE = 128 + 13
"""As a shell reports a process that SIGPIPE ended."""


class Subcommands(TyperGroup):
    """Imports the module of a subcommand when that is called, so that ``--help`` is quick."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, summary in SUBCOMMANDS.items():
            self.add_command(TyperCommand(name, help=summary, rich_markup_mode=MARKUP))

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else listed, rest

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        # Without arguments what is raised is the help.
        with one_line_errors(info_name or "dve") if args else nullcontext():
            return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: typer.Context) -> Any:
        with one_line_errors(ctx.command_path), raised_once():
            return super().invoke(ctx)


def load(name: str) -> TyperCommand:
    """The command that ``dve_cli.NAME`` defines.

    Parameters
    ----------
    name : str
        A key of `SUBCOMMANDS`.
    """
    single = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    single.command(name)(getattr(import_module(f"dve_cli.{name}"), name))
    command = typer.main.get_command(single)
    assert isinstance(command, TyperCommand)
    return command


@contextmanager
def one_line_errors(command: str) -> Iterator[None]:
    """Turn what a user can cause into one line on standard error and an exit status.

    A defect of OpenDVE keeps its traceback.

    Parameters
    ----------
    command : str
        Whose help explains a wrong option or argument.
    """
    try:
        yield
        sys.stdout.flush()  # a full disk or a closed pipe shows here at the latest
    except WaitError as error:
        stop(str(error), WAITING)
    except (UserError, CosimError) as error:
        stop(str(error), USER_ERROR)
    except TyperException as error:  # a wrong option or argument
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else command
        message = error.format_message().rstrip(".").replace("Value error, ", "")
        stop(f"{message}; try `{where} --help`", USER_ERROR)
    except Terminated as error:
        stop("terminated", SIGNAL + error.number)
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except MemoryError:
        stop("there is not enough memory for this", USER_ERROR)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich turns that into a failure
            raise typer.Exit(BROKEN_PIPE) from None
        raise
    except OSError as error:
        drop_unwritten_output()
        if error.errno == errno.EPIPE:  # the reader of our output, such as `head`, has enough
            raise typer.Exit(BROKEN_PIPE) from None
        where = f"{error.filename}: " if error.filename else ""
        stop(f"{where}{error.strerror or error}", USER_ERROR)


def stop(message: str, status: int) -> NoReturn:
    """Say why, in one line, and end with ``status``."""
    warnings.simplefilter("ignore")  # such as Amaranth's, of what is torn down half made
    print(f"dve: error: {' '.join(message.split())}", file=sys.stderr)
    raise typer.Exit(status) from None


def drop_unwritten_output() -> None:
    """Keep Python from complaining at its exit about output that cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_version(asked: bool) -> None:
    if asked:
        print(f"dve {metadata.version('opendve')}")
        raise typer.Exit


app = typer.Typer(
    cls=Subcommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a defect shows as Python's own traceback
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def dve(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Batch-norm instructions of the Trainium vector engine, in Verilog and bit-exact numpy.

    Start with:

        dve doctor                            what this machine lacks, if anything
        dve cosim                             a real layer, RTL against golden
        dve train                             a network that learns on the engine
        dve asm backward.s -o backward.bin    text to 64-byte instructions
        dve lint backward.bin                 what is illegal in them, and why
        dve run backward.bin --on golden      run them
        dve fuzz --count 500                  random programs, RTL against golden
        dve arith                             arithmetic units against IEEE 754
        dve prove                             the same for all operands, by proof
        dve table                             what the front end knows
        dve export --preset fpga -o dve.v     Verilog for other tools
        dve synth --unit add                  area and speed on an FPGA

    `dve COMMAND --help` explains a command.
    """


def run_module(function: Callable[..., None], command: str) -> None:
    """Run a function as the one command of ``python -m``, with the errors of ``dve``.

    Parameters
    ----------
    function : callable
        With options and help as a subcommand has them.
    command : str
        How the help calls it.
    """
    single = typer.Typer(
        add_completion=False,
        rich_markup_mode=MARKUP,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    single.command()(function)
    try:
        with one_line_errors(command), raised_once():
            single(prog_name=command, standalone_mode=False)
    except typer.Exit as end:
        sys.exit(end.exit_code)
