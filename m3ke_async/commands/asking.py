"""`m3ke run`, `plan` and `check`: the commands that ask a model, or would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from m3ke_async.commands.options import CONTEXT, TEXT, given_settings, prepare, run_options
from m3ke_async.commands.printing import fail, print_json, print_lines, show


@click.command(context_settings=CONTEXT)
@click.argument("model", type=TEXT, required=False)
@run_options
def run(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Evaluate MODEL (provider/model), or continue.

    The same settings continue the same run: what has a reply is never asked again.
    """
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation

    settings = given_settings(model, config, options)
    display = make_display(quiet=quiet)
    return show(run_loop(run_evaluation(settings, display=display, signals=True)), settings, as_json=as_json)


@click.command(context_settings=CONTEXT)
@click.argument("model", type=TEXT, required=False)
@run_options
def plan(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Requests, tokens, price and time of a run; sends nothing."""
    from m3ke_async.batch.state import under_way
    from m3ke_async.lookup import run_directory
    from m3ke_async.owed import fresh_since
    from m3ke_async.plan import make_plan
    from m3ke_async.progress import make_display
    from m3ke_async.replies import open_store
    from m3ke_async.target import batch_price, batch_saving, price_of

    settings = given_settings(model, config, options)
    evaluation, target = prepare(settings, make_display(quiet=quiet), sends=False)
    directory = run_directory(evaluation)
    record = directory.read()
    evaluation, since = evaluation.as_begun(record), fresh_since(settings, record)
    elsewhere = under_way(directory.path.parent)
    batch = filling = None
    if settings.batch:
        from m3ke_async.batch.client import batch_api
        from m3ke_async.batch.request_files import Filling

        batch = batch_api(target)
        filling = Filling(batch)
    if directory.store.exists():
        with open_store(directory, fail) as store:
            planned = make_plan(evaluation, store, since, elsewhere, filling)
    else:
        planned = make_plan(evaluation, None, since, elsewhere, filling)
    price = price_of(settings, target.profile, target.model)
    if batch is not None and price is not None:
        price = batch_price(price, target.profile) or price
    seconds = planned.seconds(
        settings.rpm or target.profile.requests_per_minute, settings.tpm or target.profile.tokens_per_minute
    )
    if as_json:
        cost = planned.cost(price) if price else None
        print_json({**planned.to_json(), "cost": cost, "seconds": seconds})
        return
    from m3ke_async.report.plan import plan_lines

    print_lines(
        plan_lines(planned, settings, price, seconds, batch=batch, saving=batch_saving(target.profile))
    )


@click.command(context_settings=CONTEXT)
@click.argument("model", type=TEXT, required=False)
@run_options
def check(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Ask MODEL one question: key, address, model, limits."""
    import tempfile

    from m3ke_async.check import check as check_endpoints
    from m3ke_async.check import refuse_without_key
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.target import NoKeyError

    settings = given_settings(model, config, {**options, "data": options["data"] or "sample"})
    display = make_display(quiet=quiet)
    try:
        evaluation, target = prepare(settings, display, sends=True)
    except NoKeyError as error:
        raise refuse_without_key(settings.model, error) from None
    with tempfile.TemporaryDirectory() as folder:
        checked = run_loop(check_endpoints(evaluation, target, Path(folder) / "server.log", display))
    if as_json:
        print_json([one.to_json() for one in checked])
        return
    for one in checked:
        print_lines(one.lines())
