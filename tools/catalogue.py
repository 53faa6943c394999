"""The catalogues of translations, po/LANGUAGE.po."""
import ast
import functools
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "po"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def read(path):
    """{(context, English): translation} of a file, without its header."""
    entries = {}
    for block in path.read_text("utf-8").split("\n\n"):
        fields = {"msgctxt": "", "msgid": "", "msgstr": ""}
        name = None
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            word = line.split(" ", 1)[0]
            name = word if word in fields else name
            for text in STRING.findall(line):
                fields[name] += ast.literal_eval(text)
        if fields["msgid"]:
            entries[fields["msgctxt"], fields["msgid"]] = fields["msgstr"]
    return entries


@functools.cache
def languages():
    """{language: its entries}"""
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.po"))}
