"""Networks as JSON, with where they come from: versions, command, data hash, settings, timings.

::

    {"format": "parentage network", "version": 1,
     "variables": ["smoker", "cancer"],
     "parents": {"smoker": [], "cancer": ["smoker"]},
     "score": -812.4, "bound": -812.4, "gap": 0.0, "optimal": true, "engine": "subsets",
     "states": {"smoker": ["no", "yes"], …},
     "probabilities": {"smoker": [[0.7, 0.3]], "cancer": [[0.99, 0.01], [0.9, 0.1]]},
     "provenance": {"parentage": "0.1.0", "data": {"sha256": "…", "rows": 1000}, …},
     "digest": "sha256:…"}

Only the first four keys and the digest are always there. The digest covers everything but states
and probabilities. Where it does not hold, because the file was edited, or there is none, because a
release before 0.3 wrote it, the network is read and nothing is claimed of it.

A row of probabilities belongs to one joint state of the parents, the last parent's state changing
fastest. JSON holds every name as it is.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping  # noqa: TC003  # hints are read where it is decoded
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from parentage.errors import DataWarning, InputError, warn
from parentage.files.atomic import digest_of
from parentage.files.decoding import decoded
from parentage.network.network import Network
from parentage.network.parameters import Parameters, from_rows
from parentage.network.record import Finding, NetworkRecord

if TYPE_CHECKING:
    from parentage.data.table import Table

FORMAT, VERSION = "parentage network", 1
_LIBRARIES = ("parentage", "numpy", "numba", "highspy")


def provenance_of(table: Table | None = None, **told: Any) -> dict[str, Any]:
    """Collect where a result comes from: versions now, and the rest as it is told.

    Parameters
    ----------
    table
        The data, recorded as its digest, rows and columns.
    told
        What else is known: ``source`` (the file of the data or lists), ``command`` (as typed),
        ``settings`` (in force, defaults included), ``seconds`` (by stage).
    """
    record: dict[str, Any] = {
        "versions": {**_versions(), "python": platform.python_version()},
        "platform": platform.platform(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if table is not None:
        record["data"] = {
            "sha256": table.digest,
            "rows": table.n_rows,
            "variables": table.n_variables,
        }
        if table.has_holes:
            missing = zip(table.names, table.missing_cells.tolist(), strict=True)
            record["data"]["missing_cells"] = dict(missing)
    return record | {name: value for name, value in told.items() if value is not None}


def network_json_text(record: NetworkRecord) -> str:
    """Return the JSON text of a network; numbers that are not finite become null."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "variables": list(record.network.names),
        "parents": record.network.to_dict(),
    }
    content.update(record.finding.to_dict())
    if record.parameters is not None:
        named = zip(record.network.names, record.parameters.states, strict=True)
        content["states"] = {name: list(labels) for name, labels in named}
        content["probabilities"] = record.parameters.to_dict()
    if record.provenance:
        content["provenance"] = dict(record.provenance)
    plain = _finite(content)
    plain["digest"] = _digest(plain)
    return json.dumps(plain, indent=1, allow_nan=False) + "\n"


@dataclass(frozen=True)
class _Stated:
    """What a file states of a network itself; the other keys are those of its finding."""

    variables: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probabilities: Mapping[str, Any] | None = None
    provenance: dict[str, Any] | None = None

    def network(self) -> Network:
        self._check_entries("parents")
        return Network.from_parents({name: self.parents[name] for name in self.variables})

    def fitted(self, network: Network) -> Parameters | None:
        if self.probabilities is None:
            return None
        self._check_entries("states", "probabilities")
        return from_rows(network, self.states, self.probabilities)

    def origin(self) -> dict[str, Any]:
        found = self.provenance or {}
        if not all(isinstance(found.get(key) or {}, dict) for key in ("versions", "data")):
            raise InputError("provenance: 'versions' and 'data' must be objects")
        return found

    def _check_entries(self, *keys: str) -> None:
        for key in keys:
            if set(getattr(self, key)) != set(self.variables):
                raise InputError(f"{key} must have one entry for every variable")


def parse_network_json(text: str, name: str, *, claims: bool = True) -> NetworkRecord:
    """Parse what :func:`network_json_text` returns; errors name the file and the key.

    Without ``claims`` only the network and its parameters are read.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 5,000 digits
        raise InputError(f"{name} is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{name} is not a network file of parentage: "format" is not {FORMAT!r}')
    if content.get("version") != VERSION:
        raise InputError(
            f"{name} has format version {content.get('version')!r}, this program reads {VERSION}; "
            "install the newer release"
        )
    try:
        stated = decoded(_Stated, content)
        network = stated.network()
        parameters = stated.fitted(network)
        finding = Finding.from_dict(content) if claims else Finding()
        provenance = stated.origin() if claims else {}
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: {error}") from None
    if (finding != Finding() or provenance) and content.get("digest") != _digest(content):
        why = "has changed since it was written (its digest differs)"
        if "digest" not in content:
            why = "has no digest (a release before 0.3 wrote it, or it was changed by hand)"
        warn(
            DataWarning(
                f"{name} {why}: only the network is read, without score, proof and provenance; "
                "learn it again to get them"
            ),
        )
        return NetworkRecord(network, parameters)
    return NetworkRecord(network, parameters, finding, provenance)


def _digest(content: Mapping[str, Any]) -> str:
    """Return the digest of everything a file states but the parameters."""
    apart = ("digest", "states", "probabilities")
    return digest_of("network 1", {key: content[key] for key in content if key not in apart})


def _finite(value: Any) -> Any:
    """Replace numbers that JSON cannot hold, at any depth, and unwrap numpy's scalars."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _versions() -> dict[str, str]:
    found = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found
