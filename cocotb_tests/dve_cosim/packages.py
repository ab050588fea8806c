"""Packages that come with an extra."""

from importlib import metadata

from dve_cosim.errors import CosimError


def package_version(package: str, *, what_needs: str, extra: str) -> str:
    """Version of an installed package.

    Parameters
    ----------
    package : str
    what_needs : str
        For the message, with its verb: ``"proofs need"``.
    extra : str
        Of ours, which brings the package.

    Raises
    ------
    CosimError
        If it is not there; says which extra brings it.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise CosimError(
            f"{package} is not installed; {what_needs} the extra `{extra}`: "
            f"scripts/setup test,lint, or pip install 'opendve[{extra}]'"
        ) from None
