"""The package's face: public names, and what importing it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import parentage

HEAVY = [
    "numba",
    "numpy",
    "polars",
    "pandas",
    "pyarrow",
    "highspy",
    "matplotlib",
    "rich",
]


def fresh(code: str) -> str:
    """Run code in a new interpreter; return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("code", ["import parentage", "import parentage.cli"])
def test_importing_loads_nothing_heavy(code: str) -> None:
    loaded = fresh(f"{code}; import sys; print(' '.join(sys.modules))").split()
    assert not set(HEAVY) & set(loaded)
    assert "parentage" in loaded


def test_help_loads_nothing_heavy_and_is_fast() -> None:
    code = (
        "import sys, time; from parentage.cli import cli\n"
        "try: cli.main(['--help'], prog_name='parentage')\n"
        "except SystemExit: pass\n"
        "print(' '.join(sys.modules)); print(time.process_time())"
    )
    *text, modules, seconds = fresh(code).splitlines()
    assert "Learn:" in text
    assert not set(HEAVY) & set(modules.split())
    assert float(seconds) < 3.0  # a generous bound: the benchmark has the figure


def test_public_names_are_sorted_and_there() -> None:
    names = parentage.__all__
    assert names == sorted(names)
    assert len(set(names) - {"path", "effect", "validate"}) <= 20
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(parentage, name) is not None
    assert set(names) <= set(dir(parentage))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No parentage attribute learm"):
        _ = parentage.learm  # type: ignore[attr-defined]  # that is the point


def test_submodules_do_not_hide_functions() -> None:
    """A function must not vanish when a module of a similar name is imported first."""
    printed = fresh(
        "import parentage.scoring.explanation, parentage.scoring.candidates, parentage\n"
        "print(callable(parentage.explain), callable(parentage.score))"
    )
    assert printed == "True True"


def test_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert parentage.__version__ == version("parentage")
