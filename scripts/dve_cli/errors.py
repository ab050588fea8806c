"""What the command line says when the user's input is at fault."""


class UserError(Exception):
    """Bad input, in one line: what, where, which rule, how to mend it. Exit status 2."""
