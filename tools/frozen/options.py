"""The commands and their options, from what `headwise COMMAND --help-all` prints."""

import dataclasses
import re

# "  --layout bhld|blhd      axes of the files", "  -h,--help     print ..."
OPTION = re.compile(r"^  (?:-\w,)?(--[\w-]+)(.*)$")
COLUMN = 34  # of the descriptions; a longer option has a line of its own
COMMAND = re.compile(r"^  ([a-z][\w-]*)  ")
CHOICE = re.compile(r"^[a-z0-9][\w+-]*$")


@dataclasses.dataclass(frozen=True)
class Option:
    name: str
    kind: str  # "", "N", "F.npy", "bhld|blhd", "A B", ...

    @property
    def choices(self):
        """The words of a choice such as bhld|blhd."""
        words = self.kind.split("|")
        return words if len(words) > 1 and all(map(CHOICE.match, words)) else []

    @property
    def is_number(self):
        return self.kind in ("N", "X", "P", "B", "ID", "SHARE")


def commands_of(help_text):
    lines = help_text.partition("\nSubcommands:\n")[2].splitlines()
    return [found[1] for found in map(COMMAND.match, lines) if found]


def options_of(help_text):
    """Everything is an option that stands where an option does: text that follows the
    options begins at the margin, examples begin with the name of the program."""
    options = {}
    for line in help_text.splitlines():
        alone = line[:COLUMN] if line[COLUMN - 1:COLUMN] == " " else line
        found = OPTION.match(alone)
        if found:
            kind = found[2].strip().removesuffix("REQUIRED").strip()
            options.setdefault(found[1], Option(found[1], kind))
    return list(options.values())
