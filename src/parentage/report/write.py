"""One call from a result to its page: gather, then write. The last step of the path."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError
from parentage.files.atomic import write_text
from parentage.network.finding import Finding
from parentage.network.formats import write_network
from parentage.network.network import Network
from parentage.network.parameters import Parameters
from parentage.optimise.solution import Solution
from parentage.report.document import document
from parentage.report.gather import Material, gather

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.arcs.records import Support
    from parentage.data.table import Table
    from parentage.network.formats.network_json import NetworkRecord
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.lists import CandidateLists


PAGES = (".html", ".htm")


def save(
    result: Solution | Network | Parameters,
    path: str | os.PathLike[str],
    *,
    table: Table | None = None,
    lists: CandidateLists | None = None,
    parameters: Parameters | None = None,
    support: Support | None = None,
    size: str | None = None,
    title: str | None = None,
) -> None:
    """Write a page or a network's file, as the extension of the path says."""
    if PurePath(path).suffix.lower() in PAGES:
        near = None if support is None else support.near_networks
        write_report(
            result, path, table=table, lists=lists, parameters=parameters, support=support,
            near=near, title=title,
        )  # fmt: skip
        return
    shares = None if support is None else support.shares
    write_network(result, path, table=table, parameters=parameters, support=shares, size=size)


def write_report(
    result: Solution | Network | Parameters | NetworkRecord,
    path: str | os.PathLike[str],
    *,
    table: Table | None = None,
    lists: CandidateLists | None = None,
    parameters: Parameters | None = None,
    support: Support | None = None,
    near: NearOptimal | None = None,
    title: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write one self-contained HTML page about a network.

    Parameters
    ----------
    result
        A solution, a network, parameters, or what a network's JSON file holds.
    path
        Where to write; the file appears whole or not at all.
    table
        The data: counts, probabilities (unless given), why other parents are not there.
    lists
        The candidate lists: the next best parent sets of every variable.
    parameters
        Probabilities; by default those of the table.
    support
        How sure every arc is (:func:`parentage.support`).
    near
        Networks close to the best (:meth:`parentage.CandidateLists.within`).
    title
        What to call it; by default the name of the source.
    provenance
        Where it comes from; see :func:`parentage.network.formats.network_json.provenance_of`.
    """
    known: dict[str, Any] = {"finding": Finding()}
    if isinstance(result, Parameters):
        network, parameters = result.network, result
    elif isinstance(result, Network):
        network = result
    elif isinstance(result, Solution):
        network = result.network
        known = {
            "finding": result.finding,
            "scope": result.scope,
            "gains": result.gains,
            "listed_gains": result.listed_gains,
        }
    else:
        network = result.network
        known = {"finding": result.finding, "scope": result.scope}
        parameters = result.parameters if parameters is None else parameters
        provenance = {**result.provenance, **(provenance or {})}
    for what, other in (("parameters", parameters), ("support", support)):
        if other is not None and other.network != network:
            raise InputError(f"the {what} belong to another network")
    if near is not None and set(near.names) != set(network.names):
        raise InputError("the near-optimal networks have other variables")
    source = str((provenance or {}).get("source") or "")
    material = Material(
        network,
        title or os.path.basename(source) or "Bayesian network",  # noqa: PTH119  # may be any text
        table=None if table is None else table.select(network.names),
        lists=lists,
        parameters=_in_order(parameters, network),
        support=support,
        near=near,
        provenance=provenance,
        **known,
    )
    write_text(path, document(gather(material)))


def _in_order(parameters: Parameters | None, network: Network) -> Parameters | None:
    """Return parameters whose variables and parents are in the order of the network."""
    if parameters is None or parameters.network.names == network.names:
        return parameters
    raise InputError("the variables of the parameters are in another order than the network's")
