"""The commit that a report names."""

import subprocess

import pytest
from dve_cli import revision as module
from dve_cli.revision import revision


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with one committed file, which stands for the module."""
    here = tmp_path / "revision.py"
    here.write_text("")
    monkeypatch.setattr(module, "HERE", here)

    def git(*arguments):
        name = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *name, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "--quiet")
    git("add", "revision.py")
    git("commit", "--quiet", "-m", "m")
    return here, git


def test_a_checkout_has_one(checkout):
    here, git = checkout
    assert revision() == git("rev-parse", "--short=12", "HEAD")
    here.write_text("changed")
    assert revision() == f"{git('rev-parse', '--short=12', 'HEAD')}-dirty"


def test_an_installed_copy_inside_another_checkout_has_none(checkout, monkeypatch):
    here, _ = checkout
    (here.parent / "copy.py").write_text("")
    monkeypatch.setattr(module, "HERE", here.parent / "copy.py")
    assert revision() is None


def test_without_git_there_is_none(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert revision() is None
