"""Entries of dvc.lock that a merge put together and no run made.

Two branches change one stage, one by its parameters, the other by its data. Git takes the changed
inputs of both, and in the conflict of the outputs one side is picked: the entry then agrees with
params.yaml, with its neighbours and with the metrics, and only its history tells that no run ever
had those inputs and gave those outputs. A run after the merge changes the entry, which settles it;
when it gives the same bytes, a commit says so in a trailer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from hanyi.errors import HanyiError
from hanyi.gate.finding import Finding, failed, passed
from hanyi.gate.lockfile import LOCK, Entry, inputs, outputs, parse_lock, read_lock
from hanyi.gate.revisions import git, read_at

CHECK = "merges"
SHOWN = 4  # inputs that are named
RAN = "Ran"  # trailer of a commit message, with the name of a stage
SHORT = 10  # digits of a commit that are shown

Lock = Mapping[str, Entry]


class Merge(NamedTuple):
    """A merge whose lock is none of those that it joins."""

    name: str
    merged: Lock
    parents: Sequence[Lock]
    base: Lock
    ran: Collection[str]  # stages that were run again since, as commits say


def check_merges() -> list[Finding]:
    """Look for entries of dvc.lock that a merge put together, in the history that is here."""
    try:
        lock = read_lock()
    except HanyiError:
        return []  # told by the check of the lock
    if git("rev-parse", "--verify", "--quiet", "HEAD") is None:
        return [passed(CHECK, LOCK, "not looked at: no git history here")]
    merges = list(_merges(lock))
    faults = [fault for merge in merges for fault in _faults(merge, lock)]
    if faults:
        return faults
    if (git("rev-parse", "--is-shallow-repository") or "").strip() == "true":
        return [passed(CHECK, LOCK, "ok as far back as this shallow clone goes")]
    return [passed(CHECK, LOCK, "ok, no run is owed")]


def _merges(lock: Lock) -> Iterator[Merge]:
    under_way = (git("rev-parse", "--verify", "--quiet", "MERGE_HEAD") or "").strip()
    if under_way:
        parents = ["HEAD", under_way]
        yield Merge("the merge under way", lock, [*map(_lock_at, parents)], _base(parents), ())
    # With a path, git lists those merges alone that differ from all of their parents there.
    listed = git("rev-list", "--merges", "HEAD", "--", LOCK.as_posix()) or ""
    for commit in listed.split():
        parents = (git("rev-parse", f"{commit}^@") or "").split()
        trailers = f"--format=%(trailers:key={RAN},valueonly)"
        ran = (git("log", trailers, f"{commit}..HEAD") or "").split()
        name = f"merge {commit[:SHORT]}"
        yield Merge(name, _lock_at(commit), [*map(_lock_at, parents)], _base(parents), ran)


def _base(parents: Sequence[str]) -> Lock:
    base = (git("merge-base", "--octopus", *parents) or "").strip()
    return _lock_at(base) if base else {}


def _lock_at(revision: str) -> Lock:
    try:
        return parse_lock(read_at(revision, LOCK) or "")
    except HanyiError:
        return {}


def _faults(merge: Merge, lock: Lock) -> Iterator[Finding]:
    for stage, entry in lock.items():
        sides = [parent.get(stage, {}) for parent in merge.parents]
        if entry != merge.merged.get(stage) or entry in sides or stage in merge.ran:
            continue  # run since, or run as it is on one side
        for path, digest in outputs(entry).items():
            made = [outputs(side).get(path) for side in sides]
            before = outputs(merge.base.get(stage, {})).get(path)
            # Where one side alone changed the bytes, what the other did is known to change none.
            if digest in made and before not in made:
                other = _other(entry, sides[made.index(digest)])
                if other:
                    yield failed(
                        CHECK,
                        stage,
                        f"{merge.name} took {path} from one side and {_few(other)} from the "
                        f"other: no run made it; run `dvc repro --force --single-item {stage}` and "
                        f"`dvc repro`; when that changes nothing, commit with --trailer '{RAN}: "
                        f"{stage}'",
                    )
                    break


def _other(entry: Entry, side: Entry) -> list[str]:
    now, then = inputs(entry), inputs(side)
    return [name for name in {**now, **then} if now.get(name) != then.get(name)]


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
