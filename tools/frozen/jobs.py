"""What a job is: one call of the command, or one call of several ranks."""

import dataclasses
import shlex


@dataclasses.dataclass(frozen=True)
class Job:
    part: str  # options, resume or ranks
    ranks: tuple  # the words of each process; several run under mpirun
    language: str = "en"
    start: str = ""  # the folder of a recording that the job begins with a copy of

    @property
    def name(self):
        calls = " : ".join(shlex.join(words) for words in self.ranks)
        start = f" in {self.start}" if self.start else ""
        language = f" ({self.language})" if self.language != "en" else ""
        return f"{self.part}: {calls}{start}{language}"

    def in_language(self, language):
        return dataclasses.replace(self, language=language)


def job(part, words, **more):
    return Job(part, (tuple(words),), **more)


def job_of(fields):
    """From JSON."""
    return Job(**{**fields, "ranks": tuple(map(tuple, fields["ranks"]))})
