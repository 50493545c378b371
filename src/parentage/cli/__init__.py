"""The command line: thin commands over the functions of the package.

``parentage --help`` imports click and nothing else; a command's module is imported when it runs.
Results go to stdout, progress and warnings to stderr. Exit codes: 0 done; 1 stopped without what
was asked; 2 bad input or usage, stdout empty; 130 interrupted.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from typing import Any, ClassVar

import click

from parentage import __version__
from parentage.cli.output import StdoutError, guard_streams, hold_decisions, say, visible

EPILOG = """\b
Try:
  parentage learn survey.csv            the optimal network
  parentage support survey.csv          how well the data support each arc
  parentage COMMAND --help              the options most people need
  parentage COMMAND --help-all          every option of a command
"""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    parts: ClassVar[dict[str, dict[str, str]]] = {
        "Learn": {
            "info": "Describe the table; estimate time and memory of learning.",
            "learn": "Find the network with the highest score, and the proof.",
            "report": "Write one HTML file: figure, probabilities, arcs, proof.",
        },
        "Trust": {
            "support": "Measure how well the data support each arc.",
            "check": "Verify a proof that a network is optimal.",
            "path": "Find the optimal network for every penalty of a range.",
            "effect": "Compute how setting a variable changes another one.",
            "validate": "Measure how well networks predict new rows (cross-validation).",
        },
        "Use": {
            "query": "Compute probabilities given evidence.",
            "apply": "Predict, impute and rate new rows with a network.",
            "sample": "Draw random rows from a network.",
        },
        "Research": {
            "score": "List the candidate parent sets of every variable.",
            "explain": "Say why a parent set is a candidate, or is not.",
        },
    }
    """The commands by what they are for; each is in the module of its name."""

    elsewhere: ClassVar[dict[str, str]] = {
        "apply": "query",
        "sample": "query",
        "explain": "score",
        "info": "score",
        "support": "report",
        "path": "answers",
        "effect": "answers",
        "validate": "answers",
    }
    """Modules of commands that share one."""

    gone: ClassVar[dict[str, str]] = {
        "reproduce": "run `make reproduce DATA=DIR` in a checkout of the source",
    }
    """Commands of earlier versions, and what to do instead."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands, part by part."""
        return [name for part in self.parts.values() for name in part]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for an unknown one."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = self.elsewhere.get(cmd_name, cmd_name)
        command = getattr(importlib.import_module(f"parentage.cli.{module}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101  # our own table above
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        known = self.list_commands(ctx)
        if args and args[0] in self.gone:
            ctx.fail(f"there is no command {args[0]!r} any more; {self.gone[args[0]]}")
        if args and args[0] not in known and not args[0].startswith("-"):
            from parentage.errors import did_you_mean

            ctx.fail(f"no command {args[0]!r}; {did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by part without importing them."""
        for part, commands in self.parts.items():
            with formatter.section(part):
                formatter.write_dl(list(commands.items()))


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parentage")
def cli() -> None:
    """Find the Bayesian network with the highest score for a table, and prove it if possible.

    Numbers have to be discretised: type --auto, or see `parentage learn --help`.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    warnings.showwarning = _show_warning
    guard_streams()
    typed = sys.argv[1:] if args is None else args
    try:
        cli.main(typed or ["--help"], prog_name="parentage", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        known = _suggested_by_meaning(error) if isinstance(error, click.NoSuchOption) else error
        say(f"error: {visible(_usage_text(known))}")
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        sys.exit(130)
    except StdoutError as error:
        say(f"error: {error}")
        sys.exit(2)
    except ValueError as error:
        _show_refusal(error)
        sys.exit(2)
    except (ImportError, OSError) as error:
        reason = visible(str(error).split("\n")[0][:200])
        say(f"error: {reason}; check memory, disk space and the installation")
        sys.exit(2)
    except MemoryError:
        say("error: out of memory; limit the parents, e.g. -k 3")
        sys.exit(2)


def _usage_text(error: click.ClickException) -> str:
    """Return an error of click as our own are written, with where the help is."""
    typed = error.param if isinstance(error, click.BadParameter) else None
    if typed is not None and not isinstance(error, click.MissingParameter):
        name = typed.opts[-1] if isinstance(typed, click.Option) else typed.human_readable_name
        text = f"{name} {error.message}"
    else:
        text = error.format_message()
        text = re.sub(r"\.? \(?Did you mean(.*\?)\)?$", r"; did you mean\1", text).rstrip(".")
        text = f"{text[:1].lower()}{text[1:]}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    return text if context is None else f"{text}\nhelp: {context.command_path} --help"


def _suggested_by_meaning(error: click.NoSuchOption) -> click.NoSuchOption:
    """Suggest the option that other programs call so, not one that is spelled alike."""
    from parentage.errors import FOREIGN

    known = [] if error.ctx is None else [o for p in error.ctx.command.params for o in p.opts]
    meant = FOREIGN.get(error.option_name.lstrip("-").replace("-", "_"), ())
    found = next((f"--{name}" for name in meant if f"--{name}" in known), None)
    if found is None:
        return error
    return click.NoSuchOption(
        error.option_name, f"{error.message} Did you mean {found!r}?", ctx=error.ctx
    )


def _show_refusal(error: ValueError) -> None:
    """Show an error raised on purpose as one message; anything else is a bug and stays loud."""
    from parentage.errors import ParentageError

    if not isinstance(error, ParentageError):
        raise error
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    say(f"error: {visible(error.text('command line') + notes)}")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    from parentage.errors import DecisionWarning, ParentageWarning

    if not isinstance(message, ParentageWarning):
        say(f"warning: {visible(str(message))}")
        return
    from parentage.cli.options import GroupedCommand

    told, context = message.text("command line"), click.get_current_context(silent=True)
    if isinstance(message, DecisionWarning):
        hold_decisions(told)
        return
    if context is not None and isinstance(context.command, GroupedCommand):
        note = context.command.note_on(message.ways, context)
        told += f"\n{note}" if note else ""
    say(f"warning: {visible(told)}")
