"""The facts a file of lists carries about them: their account and their digest, as one line.

Shared by .jkl, .pss and Parquet. The digest is checked when the file is read: lists that were
changed, cut off or lost sets on the way are refused, because what their account promises would no
longer hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parentage.errors import ListsError
from parentage.scoring.account import Origin, origin_from_dict, origin_to_dict

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists


@dataclass(frozen=True)
class Facts:
    """What a file says of its lists."""

    origin: Origin
    digest: str

    def check(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists if they are those the facts are about.

        Raises
        ------
        ListsError
            They are not.
        """
        if lists.digest != self.digest:
            raise ListsError(
                "the sets are not those the file was written with (its digest differs): the file "
                "is damaged, or was changed by hand; write it again, or delete the line of facts "
                "to use the lists without any account of where they come from"
            )
        return lists


def facts_text(lists: CandidateLists) -> str:
    """Write the facts as one line of JSON with blanks inside strings only."""
    content = {**origin_to_dict(lists.account), "digest": lists.digest}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def parse_facts(text: str) -> Facts:
    """Read what :func:`facts_text` wrote."""
    content = json_object(text)
    digest = content.get("digest")
    if not isinstance(digest, str):
        raise ListsError("the file's line of facts has no digest; write the file again")
    return Facts(origin_from_dict(content), digest)


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; anything else is damage."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ListsError(f"the file's line of facts is damaged: {str(error)[:80]}") from None
    if not isinstance(content, dict):
        raise ListsError("the file's line of facts is damaged: not an object")
    return content
