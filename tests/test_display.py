"""How far long work is: bars in terminals and notebooks, silence elsewhere."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import threading
import types
from typing import TYPE_CHECKING, Any, cast

import pytest

import parentage
from parentage.arcs.support import support
from parentage.cli.output import Outlet, say
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError
from parentage.network.network import Network
from parentage.work import progress as display
from parentage.work.progress import (
    Progress,
    below_the_cell,
    in_notebook,
    on_the_terminal,
    shown,
)
from parentage.work.stop import Stop, interruptible

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.work.progress import Report

MOMENTS = [
    Progress("scoring", "1 parent", 0.1, 3, 10, 50),
    Progress("scoring", "2 parents", 0.2, 5, 20, 90),
    Progress("learning", "orders", 0.3, incumbent=-5.0, bound=-4.0),
    Progress("needs", "<a> → [b]", 0.4, 1, 4, seconds_left=3.0),
    Progress("bootstrap", "2 of 9 replicates", 0.4, 2, 9, seconds_left=3.0),
]


class FakeNotebook:
    """What IPython offers to a kernel, as far as it is used."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        shell = type("ZMQInteractiveShell", (), {})()
        self.module = cast("Any", types.ModuleType("IPython"))
        self.module.get_ipython = lambda: shell
        self.inside = cast("Any", types.ModuleType("IPython.display"))
        self.inside.HTML = str
        self.inside.display = self.display
        self.module.display = self.inside

    def display(self, page: str, display_id: bool) -> FakeNotebook:
        assert display_id
        self.pages.append(page)
        return self

    def update(self, page: str) -> None:
        self.pages.append(page)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> FakeNotebook:
    fake = FakeNotebook()
    monkeypatch.setitem(sys.modules, "IPython", fake.module)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.inside)
    monkeypatch.setattr(display, "REFRESH", 0.0)
    return fake


def test_a_notebook_shows_a_bar_while_scoring_and_learning(notebook: FakeNotebook) -> None:
    assert in_notebook()
    parentage.learn(chest_clinic(100, seed=0), progress=True)
    bars = [page for page in notebook.pages if "<progress" in page]
    assert any('max="' in page and "sets counted" in page for page in bars)
    assert any("gap" in page for page in bars)
    assert notebook.pages[-1] == "", "nothing is left behind"


def test_names_are_escaped_in_a_notebook(notebook: FakeNotebook) -> None:
    with below_the_cell() as show:
        show(MOMENTS[3])
        assert "&lt;a&gt;" in notebook.pages[-1] and 'value="1" max="4"' in notebook.pages[-1]


def test_a_notebook_is_not_flooded(notebook: FakeNotebook, monkeypatch: Any) -> None:
    monkeypatch.setattr(display, "REFRESH", 100.0)
    with below_the_cell() as show:
        for at in MOMENTS * 20:
            show(at)
    assert len([page for page in notebook.pages if page]) == 1


def test_the_display_goes_when_the_work_fails(notebook: FakeNotebook) -> None:
    with pytest.raises(ZeroDivisionError), shown(True) as report:
        assert report is not None
        report(MOMENTS[0])
        raise ZeroDivisionError
    assert notebook.pages[-1] == ""


def displays_made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the displays of terminals that are made from now on."""
    from rich import live

    made, whole = list[Any](), live.Live

    def watched(**settings: Any) -> Any:
        made.append(whole(**settings))
        return made[-1]

    monkeypatch.setattr(live, "Live", watched)
    return made


def test_a_terminal_shows_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    stream, displays = io.StringIO(), displays_made(monkeypatch)
    with on_the_terminal(Console(file=stream, force_terminal=True, width=120)) as show:
        for at in MOMENTS:
            show(at)
            displays[-1].refresh()
    text = stream.getvalue()
    for words in ("1 parent: 50 sets", "best -5.0000", "<a> → [b]", "2 of 9", "about 3 s left"):
        assert words in text, words


def test_messages_stand_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)  # as a process has it
    monkeypatch.setattr("sys.stderr", stream)
    with on_the_terminal(Console(stderr=True, force_terminal=True, width=120)) as show:
        show(MOMENTS[0])
        say("a message")
    written = stream.buffer.getvalue().decode()
    assert "parentage: a message" in [line.strip() for line in on_screen(written)]


def test_what_was_printed_stays_when_bars_and_lines_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rich.console import Console

    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    monkeypatch.setattr("sys.stderr", stream)
    bar, other, line = (
        Progress("scoring", "1 parent", 1.0, 5, 10),
        Progress("scoring", "2 parents", 1.0, 5, 10),
        Progress("learning", "root LP", 1.0, incumbent=-1.0),
    )
    with on_the_terminal(Console(stderr=True, force_terminal=True, width=120)) as show:
        say("first")
        for at in (bar, other, line):
            show(at)
        say("second")
        show(bar)
        say("third")
        show(line)
    say("last")
    left = left_on_screen(stream.buffer.getvalue().decode())
    assert left == [f"parentage: {word}" for word in ("first", "second", "third", "last")]


def left_on_screen(written: str) -> list[str]:
    """Return the lines that a terminal shows in the end: it moves up, and erases lines."""
    lines, at = [""], 0
    for text, move in re.findall(r"([^\x1b\r\n]*)(\x1b\[[0-9;?]*[A-Za-z]|\r|\n|$)", written):
        lines[at] += text
        if move == "\n":
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif move in ("\r", "\x1b[2K"):
            lines[at] = "" if move != "\r" else lines[at]
        elif move.endswith("A"):
            at -= int(move[2:-1] or 1)
    return [line.rstrip() for line in lines if line.strip()]


def on_screen(written: str) -> list[str]:
    """Return the lines that were written, without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).replace("\r", "\n").split("\n")


def test_elsewhere_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(True) as report:
        assert report is None
    parentage.learn(chest_clinic(50, seed=0), progress=True)
    assert capsys.readouterr().err == ""


def test_what_is_given_is_called() -> None:
    told: list[Progress] = []
    with shown(told.append) as report:
        assert report == told.append
    for nothing in (None, False):
        with shown(nothing) as report:
            assert report is None
    given: Report = told.append
    parentage.score(chest_clinic(50, seed=0), progress=given)
    assert told and {at.stage for at in told} == {"scoring"}


def test_pictures_show_support_where_it_is_known(tmp_path: Path) -> None:
    table = chest_clinic(150, seed=2)
    solution = parentage.learn(table)
    found = support(table, bootstrap=5, need=False)
    known = solution.with_support(found)
    assert known == solution and known.network == solution.network
    assert known.network.shares == found.shares and solution.network.shares is None
    plain, strong = solution._repr_html_(), known._repr_html_()
    assert plain != strong and "opacity" in strong
    assert known.network._repr_html_() != solution.network._repr_html_()
    for result in (known, found.averaged):
        result.save(tmp_path / "x.svg")
        assert ", support 1" in (tmp_path / "x.svg").read_text()
    page = found._repr_html_()
    assert "<svg" in page and "<th>adjacency</th>" in page and "need" not in page
    with pytest.raises(InputError, match="another network"):
        parentage.learn(table, max_parents=0).with_support(found)


def test_hostile_names_are_escaped_in_the_table() -> None:
    from parentage.arcs.records import ArcSupport, Support

    names = ["<script>alert(1)</script>", "b&b"]
    network = Network.from_arcs(names, [(names[0], names[1])])
    found = Support(network, -1.0, -1.0, True, (ArcSupport(names[0], names[1], gain=1.0),))
    assert "<script>" not in found._repr_html_()


@pytest.mark.parametrize("looks", (True, False))
def test_sentences_fit_the_terminal(looks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of prose are broken for people, and left whole for programs."""
    sentence = (
        "proven optimal among the networks that the constraints allow; no network with this score"
    )
    written = f"{sentence}\n{json.dumps(sentence.split())}\n"

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return looks

    monkeypatch.setenv("COLUMNS", "60")
    screen = Screen()
    Outlet(cast("Any", screen), result=True).write(written)
    *prose, listed, _ = screen.getvalue().split("\n")
    assert " ".join(prose) == sentence
    assert json.loads(listed) == sentence.split()
    assert (max(map(len, prose)) <= 60) == looks


def test_bars_leave_room_for_what_the_terminal_echoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line as wide as the terminal would wrap at ^C, and stay there twice."""
    monkeypatch.setenv("COLUMNS", "90")
    displays = displays_made(monkeypatch)
    with on_the_terminal():
        assert displays[-1].console.width == 90 - display.ROOM_FOR_ECHO


@pytest.mark.usefixtures("ctrl_c")
def test_a_first_signal_is_acknowledged_at_once() -> None:
    told = threading.Event()
    with interruptible(Stop(), command=True, tell=told.set) as stop:
        signal.raise_signal(signal.SIGINT)
        assert told.wait(10) and stop.cancelled.is_set()
