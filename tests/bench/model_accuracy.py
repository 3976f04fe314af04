"""How far the performance model is from public recordings of real devices."""

from collections.abc import Iterator

from rich.table import Table

from nki_anvil.sim.calibration import replay


def tables() -> Iterator[Table]:
    table = Table("case", "quantity", "measured", "predicted", "ratio", "goal", title="Model against public recordings")
    for case in replay():
        measured, predicted = f"{case.measured:,.4g} {case.unit}", f"{case.predicted:,.4g} {case.unit}"
        goal = f"within {case.goal:g}x" + ("" if case.within_goal else "  missed")
        table.add_row(case.case, case.quantity, measured, predicted, f"{case.ratio:.2f}", goal)
    yield table
