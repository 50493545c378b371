"""The facts a file of lists states about them: their account, and one digest over both.

Shared by .jkl, .pss and Parquet. The digest covers the sets and every fact of the account. It is
checked when the file is read:

- it holds: the lists are what their account says;
- it does not: the file is refused, because the sets or the account were changed;
- there is none, or one over the sets alone, as releases before 0.3 wrote: nobody vouches for the
  account. The lists are read as those of another program, and what is proven of them holds among
  the networks that these lists allow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parentage.errors import DataWarning, ListsError, warn
from parentage.files.atomic import digest_of
from parentage.scoring.account import Account, Unknown, origin_from_dict, origin_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.scoring.lists import CandidateLists


@dataclass(frozen=True)
class Facts:
    """What a file states about its lists: the account as plain values, and the digest."""

    account: Mapping[str, Any]
    digest: object

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Facts:
        """Tell the digest from what it is a digest of."""
        account = {key: value for key, value in content.items() if key != "digest"}
        return cls(account, content.get("digest"))

    def given_to(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with their account, as far as the digest vouches for it.

        Raises
        ------
        ListsError
            The account is damaged, or the digest is that of other sets or of another account.
        """
        origin = origin_from_dict(self.account)
        if self.digest == _digest(lists, self.account):
            return replace(lists, account=origin)
        if self.digest not in (None, lists.digest):
            raise ListsError(
                "the sets or the account are not those the file was written with (its digest "
                "differs): the file is damaged, or was changed by hand; write it again, or delete "
                "the line of facts to use the lists without any account of where they come from"
            )
        if isinstance(origin, Account):
            origin = Unknown()
            warn(
                DataWarning(
                    "no digest covers the account of these lists (the file was written by a "
                    "release before 0.3, or changed by hand): they are treated as lists of "
                    "another program, and what is proven holds among the networks that these "
                    "lists allow; score the table again to prove more"
                ),
            )
        return replace(lists, account=origin)


def facts_text(lists: CandidateLists) -> str:
    """Write the facts as one line of JSON with blanks inside strings only."""
    account = origin_to_dict(lists.account)
    content = {**account, "digest": _digest(lists, account)}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def parse_facts(text: str) -> Facts:
    """Read what :func:`facts_text` wrote; the digest is checked when the sets are read."""
    return Facts.of(json_object(text))


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; anything else is damage."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ListsError(f"the file's line of facts is damaged: {str(error)[:80]}") from None
    if not isinstance(content, dict):
        raise ListsError("the file's line of facts is damaged: not an object")
    return content


def _digest(lists: CandidateLists, account: Mapping[str, Any]) -> str:
    return digest_of("facts 1", {**account, "lists": lists.digest})
