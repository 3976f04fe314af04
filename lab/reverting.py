"""``revert_to_best``: put the best kernel back into the working file, after keeping what is there."""

from __future__ import annotations

from pathlib import Path

from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import GateUnverified
from nki_anvil.lab import replacing, state, working_file
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.results import Reverted
from nki_anvil.lab.status import bench_today
from nki_anvil.lab.workbench import Workbench, workbench


async def revert_to_best(lab: Laboratory, problem: str, *, report: Report = silent) -> Reverted:
    """Replace the working file by best. Its text is an attempt before it goes. Raises GateUnverified without a best."""
    return await run_sync(_revert, lab, problem)


def _revert(lab: Laboratory, problem: str) -> Reverted:
    bench = workbench(lab, problem)
    bench_today(lab, bench.problem, bench.backend.name)
    best = bench.best()
    if best is None:
        raise GateUnverified(
            f"No kernel of {problem!r} has passed yet, so there is nothing to go back to.",
            "Correct the kernel and call verify_kernel, then benchmark_kernel.",
        )
    with state.locked(bench.problem.folder / ".working.lock"):
        return _replace(bench, best)


def _replace(bench: Workbench, best: Best) -> Reverted:
    path = working_file.to_write(bench.lab.workspace, bench.problem.working_file)
    saved = _save(bench, best, path, path) if path.exists() else None
    changed = saved is None or saved.digest != best.digest
    if changed:
        taken = replacing.put(path, bench.problem.attempts.held(best).text(), bench.problem.folder)
        saved = _save(bench, best, path, taken) if taken else saved  # it may have been edited since it was read
    bench.write("reverted", saved_attempt=saved.number if saved else None, best=best.digest)
    return Reverted(
        kernel_path=bench.lab.shown(path),
        best_digest=best.digest,
        saved_attempt=saved.number if saved else None,
        changed=changed,
        verified=bench.passes(best.digest),
    )


def _save(bench: Workbench, best: Best, path: Path, place: Path) -> Attempt:
    """Keep the text that goes, which is at ``place``, whatever the budget says."""
    text = working_file.read(place)
    attempt, _ = bench.problem.attempts.take(text, at=bench.now().isoformat(), parent=best.digest, path=str(path))
    return attempt
