"""The import contracts leave out no module: every package that has modules has its layers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import parentage

ROOT = Path(__file__).parents[1]
PACKAGE = Path(parentage.__file__).parent


def packages() -> set[str]:
    """Every package with modules in it, by its full name."""
    folders = {path.parent for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    return {".".join(("parentage", *folder.relative_to(PACKAGE).parts)) for folder in folders}


def test_every_package_has_a_contract_that_lists_all_its_modules() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    covered = [
        container
        for contract in contracts
        if contract["type"] == "layers" and contract.get("exhaustive")
        for container in contract["containers"]
    ]
    assert sorted(covered) == sorted(packages())
