"""``nnxmigrate fix-ckpt``: make a checkpoint of an NNX 0.10 program loadable after its migration."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nnxmigrate import config
from nnxmigrate.cli import ckpt_output as output

if TYPE_CHECKING:
    from nnxmigrate.checkpoint.job import Job, Request
    from nnxmigrate.checkpoint.loading import Maker


@click.command("fix-ckpt")
@click.argument("path")
@click.argument("destination", required=False)
@click.option(
    "--model", metavar="MODULE:FACTORY", help="Function or class that makes the new model, or a file.py:name."
)
@click.option("--rngs", metavar="STREAM=SEED,…", help="Seeds of the new RNG state, as params=0,dropout=1. [0]")
@click.option("--eager-init", is_flag=True, default=None, help="Really build the model instead of tracing it.")
@click.option("--step", metavar="N|all", help="Step of a CheckpointManager. [the latest]")
@click.option("--item", "items", multiple=True, metavar="NAME", help="Item that is converted. [all trees]")
@click.option(
    "--optimizer",
    type=click.Choice(["keep", "split"]),
    help="Keep an nnx.Optimizer's checkpoint whole, for nnx.ModelAndOptimizer, or split it into items `model` and "
    "`optimizer`. [keep]",
)
@click.option("--rename", "renames", multiple=True, metavar="OLD=NEW", help="Move a leaf or node, keys joined by dots.")
@click.option(
    "--drop", multiple=True, metavar="PATTERN", help="Leave out stored leaves or nodes; their values are lost."
)
@click.option("--keep", multiple=True, metavar="PATTERN", help="Keep stored RNG streams that look like a layer's.")
@click.option(
    "--allow-missing", multiple=True, metavar="PATTERN", help="Give leaves or nodes that are not stored initial values."
)
@click.option("--link", is_flag=True, default=None, help="Share data files through hard links instead of copying them.")
@click.option("--verify/--no-verify", default=None, help="Compare what was written with the source. [verify]")
@click.option(
    "--verify-from-disk",
    is_flag=True,
    default=None,
    help="Read copies past the system's cache, however small they are.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan and what it costs, and stop.")
@click.option("--check", is_flag=True, help="Say whether and why it needs converting, and stop; 1 if it does.")
@click.option("--recursive", "-r", is_flag=True, help="Convert all checkpoints below PATH.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--emit-script", is_flag=True, help="Print a standalone script for this case and stop.")
@click.option("--verbose", "-v", is_flag=True, help="Name every leaf that is kept.")
@click.option("--distributed", is_flag=True, help="Run as a process of a jax.distributed job; the first one writes.")
@click.option("--coordinator", metavar="HOST:PORT", help="Its coordinator. [what the cluster says]")
@click.option("--processes", type=click.IntRange(1), help="Its number of processes. [what the cluster says]")
@click.option("--process", type=click.IntRange(0), help="The number of this process. [what the cluster says]")
def fix_ckpt(path: str, destination: str | None, as_json: bool, **given: Any) -> None:
    """Make the Orbax checkpoint at PATH, saved by an NNX 0.10 program, loadable after the program's migration.

    The old RNG state is dropped; with --model the new program's is put in its place. Everything else keeps its stored
    bytes. The result goes to DESTINATION, or beside PATH under its name with `_nnx011` added. PATH is never changed.
    Both may be local paths or URLs of stores that TensorStore opens.

    Run it in the environment of the migrated program, with `pip install '.[ckpt]'` from a clone, under the newest Flax
    that will load the result: what is made under 0.12 serves programs of 0.11 too.

    The exit code is 0 if the checkpoint was written or needs no conversion, 1 if it does not fit the model, or with
    --check if it needs converting, and 2 if something cannot be read, used or written.
    """
    try:
        from nnxmigrate.checkpoint.errors import CheckpointError, MisfitError

        with _quiet():
            _fix(path, destination, as_json, {**_configured(), **_given(given)})
    except KeyboardInterrupt:
        _interrupted()
    except ImportError as error:
        if _of_interrupt(error):
            _interrupted()
        needed = (
            "install what checkpoints need, under Python 3.11 or later, into the environment in which the migrated "
            f"program runs (this is {sys.executable}): pip install '.[ckpt]' in a clone of nnxmigrate"
        )
        raise _Failure(f"{error}; {needed}") from error
    except CheckpointError as error:
        output.complain(error, {"status": "error"} if as_json else None)
        sys.exit(1 if isinstance(error, MisfitError) else 2)


def _interrupted() -> NoReturn:
    click.echo("interrupted; nothing looks finished, and the same command goes on where it ended", err=True)
    sys.exit(130)


def _of_interrupt(error: BaseException | None) -> bool:
    """Say whether an error came of an interrupt: native modules make their own of one while they are imported."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _fix(path: str, destination: str | None, as_json: bool, options: Mapping[str, Any]) -> None:
    import tensorstore  # noqa: F401  # fails first if the extra is not installed

    from nnxmigrate.checkpoint.distributed import join
    from nnxmigrate.checkpoint.job import places

    if options["distributed"]:
        join(options["coordinator"], options["processes"], options["process"])
    else:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # keys are the same everywhere; accelerators stay free
    if options["model"] and not options["recursive"]:
        places(path, destination, bool(options["check"]))  # fails before the model's module is imported
    request, maker = _request(path, destination, options)
    if options["recursive"]:
        _fix_all(request, maker, as_json, options)
        return
    sys.exit(_fix_one(request, maker, as_json, options))


def _fix_one(request: Request, maker: Maker | None, as_json: bool, options: Mapping[str, Any]) -> int:
    """Convert one checkpoint; return the exit code."""
    from nnxmigrate.checkpoint import report
    from nnxmigrate.checkpoint.convert import cost_of, run_job
    from nnxmigrate.checkpoint.distributed import is_leader
    from nnxmigrate.checkpoint.errors import MisfitError
    from nnxmigrate.checkpoint.job import plan_job

    job = plan_job(request)
    leader = is_leader()
    if options["emit_script"]:
        _emit(job, maker, options)
        return 0
    try:
        for _, plan in job.converted:
            plan.require_fit()
    except MisfitError as error:
        output.complain(error, report.record(job, "refused") if as_json and leader else None)
        if leader and not as_json:
            if options["verbose"]:
                output.show(job, True)
            else:
                output.tell_of_program(job)
        return 1
    if options["check"]:
        return int(output.check(job, maker, as_json)) if leader else 0
    if leader and not as_json:
        output.show(job, bool(options["verbose"] or options["dry_run"]))
    cost = None if job.needless else cost_of(job)
    if leader and not as_json:
        output.show_cost(cost, job.destination)
    told = len(job.notes)
    if not options["dry_run"]:
        with output.progress(cost.nbytes if cost else None, leader and not as_json) as progress:
            run_job(job, progress)
    if leader:
        output.conclude(job, maker, as_json, bool(options["dry_run"]), job.notes[told:])
    return 0


def _fix_all(request: Request, maker: Maker | None, as_json: bool, options: Mapping[str, Any]) -> None:
    """Convert every checkpoint below a folder, print one summary and leave with the worst exit code."""
    from nnxmigrate.checkpoint.recursive import convert_all

    if options["emit_script"] or options["distributed"]:
        raise click.UsageError("--recursive goes with neither --emit-script nor --distributed")
    outcomes = []
    for outcome in convert_all(request, bool(options["dry_run"])):
        outcomes.append(outcome)
        if not as_json:
            output.show_outcome(outcome)
    output.summarise(outcomes, maker, as_json)
    sys.exit(max((outcome.code for outcome in outcomes), default=0))


def _request(path: str, destination: str | None, options: Mapping[str, Any]) -> tuple[Request, Maker | None]:
    """Return the request and how its model is made."""
    from nnxmigrate.checkpoint.errors import CheckpointError
    from nnxmigrate.checkpoint.factory import call_source, call_with_rngs, load_factory, parse_seeds, takes_rngs
    from nnxmigrate.checkpoint.job import Request
    from nnxmigrate.checkpoint.loading import maker_from
    from nnxmigrate.checkpoint.wishes import Wishes

    make: Callable[[], Any] | None = None
    maker = None
    reference = options["model"]
    if reference:
        _require_new_flax()
        seeds = parse_seeds(options["rngs"] or "0")
        factory = load_factory(reference)
        if options["rngs"] and not takes_rngs(factory):
            raise CheckpointError(f"--rngs {options['rngs']}: {reference} takes no rngs")

        def make() -> Any:
            return call_with_rngs(factory, seeds)

        maker = maker_from(reference, call_source(factory, reference.rpartition(":")[2], seeds))
    elif options["rngs"] or options["eager_init"]:
        raise CheckpointError("--rngs and --eager-init need --model")
    if options["verify"] is False and options["verify_from_disk"]:
        raise CheckpointError("--verify-from-disk and --no-verify contradict each other")
    request = Request(
        source=path,
        destination=destination,
        make=make,
        eager=True if options["eager_init"] else None,
        step=options["step"],
        items=options["items"],
        wishes=Wishes(
            renames=dict(options["renames"]),
            drop=options["drop"],
            keep=options["keep"],
            allow_missing=options["allow_missing"],
            split=options["optimizer"] == "split",
        ),
        link=bool(options["link"]),
        verify=options["verify"] is not False,
        from_disk=bool(options["verify_from_disk"]),
        check=bool(options["check"]),
    )
    return request, maker


def _given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command line's options that are set, renames as pairs."""
    options = {name: value for name, value in given.items() if not (value is None or value is False or value == ())}
    if given["verify"] is False:
        options["verify"] = False
    if "renames" in options:
        pairs = [rename.partition("=") for rename in options["renames"]]
        for old, mark, new in pairs:
            if not (old and mark and new):
                raise click.BadParameter("write OLD=NEW, such as lin=fc", param_hint="--rename")
        options["renames"] = {old: new for old, _, new in pairs}
    return options


def _configured() -> dict[str, Any]:
    """Return all options with what pyproject.toml says, else None or nothing."""
    values = ("model", "rngs", "step", "optimizer", "coordinator", "processes", "process")
    flags = (
        "eager_init",
        "link",
        "verify",
        "verify_from_disk",
        "dry_run",
        "emit_script",
        "verbose",
        "distributed",
        "check",
        "recursive",
    )
    options: dict[str, Any] = dict.fromkeys((*values, *flags))
    options.update(items=(), renames={}, drop=(), keep=(), allow_missing=())
    try:
        found = config.find([os.curdir])
        table = config.load(found).get("fix-ckpt", {}) if found else {}
    except config.ConfigError as error:
        raise _Failure(str(error)) from error
    for key, value in table.items():
        options["renames" if key == "rename" else key.replace("-", "_")] = value
    return options


def _require_new_flax() -> None:
    import flax

    if tuple(int(part) for part in flax.__version__.split(".")[:2]) < (0, 11):
        raise _Failure(f"Flax {flax.__version__} is installed here; run this where the migrated program runs")


def _emit(job: Job, maker: Maker | None, options: Mapping[str, Any]) -> None:
    from nnxmigrate.checkpoint.script import standalone_script

    if maker is None:
        raise click.UsageError("--emit-script needs --model")
    click.echo(standalone_script(job, maker), nl=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep log messages of Orbax and of the drivers of stores from the user's terminal; errors are told in words."""
    loggers = [logging.getLogger(name) for name in ("absl", "gcsfs", "s3fs", "fsspec", "botocore", "google")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR if logger.name == "absl" else logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class _Failure(click.ClickException):
    """Something that was given cannot be used."""

    exit_code = 2


if __name__ == "__main__":
    fix_ckpt()
