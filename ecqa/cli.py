"""The ``ecqa`` command.

Exit codes: 0 done; 1 an internal fault; 2 command line or config; 3 input; 4 output; 5 model; 6 a broken table contract;
7 cluster; 8 the books do not close; 9 stopped by SIGTERM, go on with the same command; 130 interrupted from the keyboard.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Annotated, Any

import typer
from rich.console import Console

from ecqa.core.errors import EcqaError, EngineError, UsageError
from ecqa.core.version import VERSION

INTERRUPTED = 130

app = typer.Typer(
    name="ecqa",
    help="Score earnings-call question-answer pairs at corpus scale.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
submit_app = typer.Typer(help="Send a job to a running Ray cluster.", no_args_is_help=True)
app.add_typer(submit_app, name="submit")


def main() -> None:
    """Entry point: an error on purpose is one line and its exit code; a traceback only with --verbose."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    verbose = "--verbose" in sys.argv
    if not verbose:
        sys.excepthook = _one_line
    try:
        # Not app(): typer would put an excepthook of its own in front of ours.
        typer.main.get_command(app)()
    except EcqaError as error:
        if verbose:
            raise
        sys.stderr.write(f"ecqa: {error}\n")
        _leave(error.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            sys.stderr.write("ecqa: interrupted; what was finished is kept, run the same command to go on\n")
        _leave(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)


def _leave(code: int) -> None:
    """End at once, all output flushed. The work is done and Ray is shut down by now, while threads of C++ libraries that
    the interpreter would tear down on the way out have been seen to abort a finished run ("terminate called without an
    active exception", now and then on a busy machine; the library was not found).
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # whoever read our output has gone (| head)
            if stream is not None:
                stream.flush()
    os._exit(code)


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(f"ecqa: internal fault: {kind.__name__}: {' '.join(str(error).split())}; --verbose shows where\n")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def score(
    input: Annotated[
        str, typer.Argument(help="Folder, glob, file or s3:// URL of transcripts, or a Parquet/CSV table of pairs.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Folder or s3:// URL for the tables.")],
    model: Annotated[str | None, typer.Option(help="Model directory or hub id; the shipped model without it.")] = None,
    config: Annotated[str | None, typer.Option(help="YAML file of settings; flags win over it.")] = None,
    kind: Annotated[str | None, typer.Option(help="auto, transcripts or pairs.")] = None,
    drop_excluded: Annotated[bool, typer.Option(help="Leave pairs unscored that a filter marks.")] = False,
    no_text: Annotated[bool, typer.Option("--no-text", help="Write ids, spans and scores only.")] = False,
    actors: Annotated[int | None, typer.Option(help="Scoring actors; by default one a GPU or free CPU.")] = None,
    cpus_per_actor: Annotated[float | None, typer.Option(help="CPUs of a scoring actor.")] = None,
    gpus_per_actor: Annotated[float | None, typer.Option(help="GPUs of a scoring actor; fractions share one.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to join: auto, or host:port. Starts Ray here without it.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print shards, stages and resources, and do nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Ray's own lines, and tracebacks.")] = False,
) -> None:
    """Score every question-answer pair of INPUT, and write the tables to OUTPUT."""
    from ecqa.core.config import build, read_yaml
    from ecqa.engine.job import RunOptions, describe, run
    from ecqa.engine.resources import Resources
    from ecqa.recipes import ScoreJobConfig, score_recipe
    from ecqa.summary import print_plan, print_summary

    raw = read_yaml(config) if config else {}
    resources = build(
        Resources,
        _with_actor_flags(raw.pop("resources", None) or {}, actors, cpus_per_actor, gpus_per_actor),
        "resources",
    )
    settings = build(ScoreJobConfig, _with_score_flags(raw, model, kind, drop_excluded, no_text), config or "settings")
    recipe = score_recipe(input, settings)
    options = RunOptions(resources=resources, address=address, verbose=verbose)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if dry_run:
        plan = describe(recipe, output, options)
        _print_json(plan) if as_json else print_plan(plan, console)
        return
    summary = run(recipe, output, options)
    _print_json(summary) if as_json else print_summary(summary, recipe.label_sets, recipe.statuses, console)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=1, default=str) + "\n")


def _with_score_flags(
    raw: Mapping[str, Any], model: str | None, kind: str | None, drop: bool, no_text: bool
) -> dict[str, Any]:
    merged = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in raw.items() if value is not None
    }
    if model:
        merged["model"] = model
    if kind:
        merged["kind"] = kind
    for section in ("encode", "shards"):
        if not isinstance(merged.get(section, {}), Mapping):
            raise UsageError(f"{section}: expected a mapping of settings, got {merged[section]!r}")
    if drop:
        merged.setdefault("encode", {})["drop_excluded"] = True
    if no_text:
        merged["text"] = False
    return merged


def _with_actor_flags(
    raw: Mapping[str, Any], actors: int | None, cpus: float | None, gpus: float | None
) -> dict[str, Any]:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("stages") or {}, Mapping):
        raise UsageError(f"resources: expected a mapping of settings, got {raw!r}")
    flags = {"actors": actors, "num_cpus": cpus, "num_gpus": gpus}
    given = {name: value for name, value in flags.items() if value is not None}
    if not given:
        return dict(raw)
    stages = dict(raw.get("stages") or {})
    stages["score_pairs"] = {**stages.get("score_pairs", {}), **given}
    return {**raw, "stages": stages}


@app.command()
def schema(
    table: Annotated[str | None, typer.Argument(help="Name of a table, such as scores; all names without it.")] = None,
) -> None:
    """Print the columns of a table: name, type, whether it can be null, and what it holds."""
    from ecqa.recipes import released_schemas

    known = released_schemas()
    if table is None:
        typer.echo("\n".join(known))
        return
    if table.lower() not in known:
        raise UsageError(f"no table {table}; known are {', '.join(known)}")
    for field in known[table.lower()]:
        about = (field.metadata or {}).get(b"doc", b"").decode()
        typer.echo(f"{field.name:32} {field.type!s:24} {'null' if field.nullable else 'not null':10} {about}".rstrip())


@submit_app.command("score", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def submit_score(
    context: typer.Context,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder or s3:// URL that every node reaches.")],
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Address of the job server, http://host:8265.")
    ] = None,
    working_dir: Annotated[
        str | None, typer.Option(help="Checkout to send along; else the cluster's installation runs.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Ray's own lines, and tracebacks.")] = False,
) -> None:
    """Run `ecqa score` with these arguments on a cluster; exits non-zero when the job fails."""
    from ecqa.core.storage import absolute_url
    from ecqa.engine.submit import submit

    arguments = [*context.args, "--output", absolute_url(output), *(["--verbose"] if verbose else [])]
    status = submit("score", arguments, output, cluster, working_dir)
    if status != "SUCCEEDED":
        raise EngineError(f"the job ended as {status}; its log is above, what it finished is kept")
