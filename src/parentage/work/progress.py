"""Where long work is: one type for every stage, and how it is shown to a person.

Work reports, it never prints. A callback gets a :class:`Progress` after every chunk of a search,
whenever a network or a bound improves, and now and then in between.

``progress=True`` of the functions and the commands show the same: while scoring a bar for every
size of parent sets, while learning the best score and the bound, for support how many networks are
done and how long the rest will take. Terminals get it on stderr by way of rich, notebooks as HTML
by way of IPython, which is there whenever a notebook is. Everywhere else nothing is shown.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Stage = Literal[
    "compiling", "scoring", "learning", "parameters", "needs", "bootstrap", "near-optimal", "path",
    "folds", "recount",
]  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """One moment of the work.

    Parameters
    ----------
    stage
        ``"compiling"`` while kernels are compiled; ``"scoring"`` or ``"learning"``;
        ``"parameters"`` while they are estimated from data with missing values; ``"needs"``,
        ``"bootstrap"`` and ``"near-optimal"`` when the support of arcs is asked for; ``"recount"``
        while a certificate is checked from a table.
    phase
        What is going on, in words: ``"2 parents"``, ``"root LP"``.
    seconds
        Wall time since the stage began.
    done, total
        While scoring: joins of this phase done, and all of them. For support: networks that were
        optimised, and all that will be. While compiling: kernels, and about how many.
    sets_counted
        While scoring: sets counted so far.
    on_disk
        While scoring: the new sets of this phase are in files, because they do not fit into memory
        or the work has a checkpoint.
    incumbent, bound
        The best score so far, while scoring, too, where a network was found before; while
        learning what no network exceeds.
    listed_bound
        While lists are solved that do not hold all that was asked for: what no network made of them
        exceeds.
    seconds_left
        For support and while compiling: how long the rest will take, judged by what is done.
    """

    stage: Stage
    phase: str
    seconds: float
    done: int = 0
    total: int = 0
    sets_counted: int = 0
    incumbent: float | None = None
    bound: float | None = None
    listed_bound: float | None = None
    seconds_left: float | None = None
    on_disk: bool = False


Report = Callable[[Progress], None]
"""What is called with the progress of the work."""


def for_the_lists(report: Report | None) -> Report | None:
    """Return what reports that bounds hold for the networks made of the listed sets alone."""
    if report is None:
        return None
    return lambda at: report(replace(at, bound=None, listed_bound=at.bound))


def for_bounds(report: Report | None, score: float) -> Report | None:
    """Return what reports the bounds of a wider problem beside the score of the network known."""
    if report is None:
        return None

    def about(at: Progress) -> None:
        bound = None if at.bound is None else max(score, at.bound)
        report(replace(at, incumbent=score, bound=bound, listed_bound=None))

    return about


ROOM_FOR_ECHO = 2
"""Columns of a terminal that bars leave free: it shows ^C there, and the line must not wrap."""

REFRESH = 0.1
"""Seconds between two pictures in a notebook."""


@contextlib.contextmanager
def shown(progress: Report | bool | None = True) -> Iterator[Report | None]:
    """Give what is to be called with the progress of the work: what was given, or a display."""
    if progress is not True:
        yield progress or None
    elif in_notebook():
        with below_the_cell() as show:
            yield show
    elif sys.stderr is not None and sys.stderr.isatty():
        with on_the_terminal() as show:
            yield show
    else:
        yield None


def in_notebook() -> bool:
    """Whether a notebook's kernel runs us; nothing is imported to find out."""
    loaded = sys.modules.get("IPython")
    shell = loaded.get_ipython() if loaded is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def words(at: Progress) -> str:
    """Say where the work is, in a line.

    >>> words(Progress("learning", "root LP", 12.3, incumbent=-10.5, bound=-10.25))
    'root LP: best -10.5000, bound -10.2500, gap 0.25, 12 s'
    >>> words(Progress("scoring", "2 parents", 2.0, 50, 100, sets_counted=5000))
    '2 parents: 5,000 sets counted, 2,500 per second'
    >>> words(Progress("scoring", "6 parents", 2.0, 50, 100, sets_counted=5000, on_disk=True))
    '6 parents: 5,000 sets counted, 2,500 per second; stored on disk'
    >>> words(Progress("learning", "growing", 2.0, incumbent=-10.5))
    'growing: best -10.5000, 2 s'
    >>> words(Progress("learning", "root LP", 2.0, incumbent=-10.5, listed_bound=-10.25))
    'root LP: best -10.5000, gap 0.25 within its lists, 2 s'
    >>> words(Progress("bootstrap", "3 of 200 replicates", 2.0, 3, 200, seconds_left=131.3))
    'bootstrap: 3 of 200 replicates, about 2 min left'
    >>> words(Progress("compiling", "40 of about 120 kernels", 14.0, 40, 120, seconds_left=28.0))
    'compiling: 40 of about 120 kernels, about 28 s left'
    """
    if at.stage == "scoring":
        rate = at.sets_counted / max(at.seconds, 1e-9)
        best = "" if at.incumbent is None else f"; best network {at.incumbent:.4f}"
        disk = "; stored on disk" * at.on_disk
        return f"{at.phase}: {at.sets_counted:,} sets counted, {rate:,.0f} per second{best}{disk}"
    if at.incumbent is not None and at.bound is not None:
        return (
            f"{at.phase}: best {at.incumbent:.4f}, bound {at.bound:.4f}, "
            f"gap {amount(at.bound - at.incumbent)}, {at.seconds:.0f} s"
        )
    if at.incumbent is not None:
        listed = at.listed_bound
        gap = "" if listed is None else f", gap {amount(listed - at.incumbent)} within its lists"
        return f"{at.phase}: best {at.incumbent:.4f}{gap}, {at.seconds:.0f} s"
    left = "" if at.seconds_left is None else f", about {duration(at.seconds_left)} left"
    return f"{at.stage}: {at.phase}{left}"


def amount(value: float) -> str:
    """Write a difference of scores with four digits, or all that stand before the point.

    >>> [amount(x) for x in (0.00123456, 7.0, 1234.56, 89218.4, 1e9)]
    ['0.001235', '7', '1,235', '89,218', '1,000,000,000']
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def number(count: int) -> str:
    """Write a whole number with all its digits, as long as anybody reads them.

    >>> [number(n) for n in (1_024, 123_456_789_012, 433_883_298_582_611_803, 10**400)]
    ['1,024', '123,456,789,012', '4.34e+17', 'over 1e+300']
    """
    if count < 10**15:
        return f"{count:,}"
    return f"{count:.3g}" if count < 10**300 else "over 1e+300"


def duration(seconds: float) -> str:
    """Write a time roughly, as a person would.

    >>> [duration(x) for x in (0.2, 59.0, 200.0, 8000.0, 2e5, 4e8, 1e12, 1e30)]
    ['0.2 s', '59 s', '3 min', '2.2 h', '2.3 days', '13 years', '31,688 years', 'ages']
    """
    for most, unit, word, whole_from in (
        (100.0, 1.0, "s", 1.0), (6000.0, 60.0, "min", 0.0), (2 * 86400.0, 3600.0, "h", 10.0),
        (2 * 365 * 86400.0, 86400.0, "days", 10.0), (1e13, 365.25 * 86400.0, "years", 10.0),
    ):  # fmt: skip
        if seconds < most:
            many = seconds / unit
            return f"{many:,.0f} {word}" if many >= whole_from else f"{many:,.1f} {word}"
    return "ages"


@contextlib.contextmanager
def on_the_terminal(console: Any = None) -> Iterator[Report]:
    """Show bars or a line on stderr, gone when the work is done.

    One display shows both and is started once: one that is started again erases as many lines above
    it as it had before.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.spinner import Spinner
    from rich.text import Text

    columns = (
        BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
    )  # fmt: skip
    if console is None:
        console = Console(stderr=True)
        console.width = max(1, console.width - ROOM_FOR_ECHO)
    bars, line = Bars(*columns, console=console), Spinner("dots")
    part: Any = bars
    display = Live(
        console=console, transient=True, refresh_per_second=10, get_renderable=lambda: part
    )
    tasks: dict[tuple[str, str], Any] = {}

    def show(at: Progress) -> None:
        """Show a moment of the work."""
        nonlocal part
        compiling = tasks.get(("compiling", ""))
        if compiling is not None:
            bars.update(compiling, visible=at.stage == "compiling")
        if at.total:
            key = (at.stage, at.phase if at.stage == "scoring" else "")
            if key not in tasks:
                tasks[key] = bars.add_task("", total=at.total)
            bars.update(tasks[key], completed=at.done, description=words(at))
        else:
            line.update(text=Text(words(at)))
        part = bars if at.total else line
        display.start(refresh=True)

    try:
        yield show
    finally:
        display.stop()


@contextlib.contextmanager
def below_the_cell() -> Iterator[Report]:
    """Show one line of HTML below the cell of a notebook, gone when the work is done."""
    from IPython.display import HTML, display

    handle: Any = display(HTML(""), display_id=True)
    last = -1.0

    def show(at: Progress) -> None:
        """Show a moment of the work; not more often than anyone can see."""
        nonlocal last
        now = time.monotonic()
        if now - last < REFRESH:
            return
        last = now
        share = f' value="{at.done}" max="{at.total}"' if at.total else ""
        bar = f'<progress style="vertical-align:middle"{share}></progress>'
        handle.update(HTML(f"<div>{bar} {escape(words(at))}</div>"))

    try:
        yield show
    finally:
        handle.update(HTML(""))
