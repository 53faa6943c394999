"""What differs between a recording and a run, in few lines."""

import difflib
import functools

MOST_LINES = 8  # of one difference
LONGEST = 200  # of a line of JSON or of a picture


def around_difference(before, after):
    """Both lines, cut so that the first difference is seen."""
    same = next((n for n, (a, b) in enumerate(zip(before, after)) if a != b),
                min(len(before), len(after)))
    begin = max(0, same - LONGEST // 2)
    return [("..." if begin and line else "") + line[begin:begin + LONGEST]
            for line in (before, after)]


@functools.cache  # many jobs print the same
def changed_lines(before, after):
    """Without numbers of lines, so that equal changes of several jobs are equal."""
    before, after = before.splitlines(), after.splitlines()
    changed = []
    for kind, i, j, k, n in difflib.SequenceMatcher(
            None, before, after, autojunk=False).get_opcodes():
        old, new = before[i:j], after[k:n]
        if kind != "equal" and len(old) == len(new):
            old, new = zip(*map(around_difference, old, new))
        if kind != "equal":
            changed += [sign + line[:LONGEST] for sign, lines in (("-", old), ("+", new))
                        for line in lines]
    return changed


def differences(before, after, texts, other_texts):
    """(what differs, lines) of two results of one job."""
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if old in texts and new in other_texts:
            lines = changed_lines(texts[old], other_texts[new])
            yield name, lines or ["(beyond what a recording keeps of a text)"]
        else:
            yield name, [f"-{old or 'not there'}", f"+{new or 'not there'}"]


class Report:
    """Equal differences are shown once, with the first job that has them."""

    def __init__(self):
        self.groups = {}  # (what, lines) -> names of jobs
        self.jobs = set()

    def add(self, job, found):
        for what, lines in found:
            self.groups.setdefault((what, tuple(lines)), []).append(job.name)
            self.jobs.add(job.name)

    def lines(self, most):
        """The differences of most jobs first."""
        groups = sorted(self.groups.items(), key=lambda each: -len(each[1]))
        for (what, lines), names in groups[:most]:
            others = f" and {len(names) - 1} more jobs" if len(names) > 1 else ""
            yield f"{what} of {names[0]}{others}"
            yield from (f"    {line}" for line in lines[:MOST_LINES])
            if len(lines) > MOST_LINES:
                yield f"    ... {len(lines) - MOST_LINES} more lines"
        if len(groups) > most:
            yield f"... and {len(groups) - most} other differences (--most N shows more)"
