"""The texts of the tokenizer benchmark: 10 MB each of English, Korean and Chinese (the
help of LibreOffice, from Debian's packages, repeated) and of Python (its library)."""
import html
import io
import pathlib
import re
import subprocess
import sysconfig
import tarfile

SIZE = 10_000_000  # bytes
TEXT = 1000  # characters of one text, about
HELP = {"english": "libreoffice-help-en-us", "korean": "libreoffice-help-ko",
        "chinese": "libreoffice-help-zh-cn"}
HIDDEN = re.compile(r"<(script|style).*?</\1>|<!--.*?-->", re.S)
BLOCK = re.compile(r"</?(?:p|li|td|h\d|div|br|tr|ul|ol|table)\b[^>]*>")


def help_lines(package, folder):
    """The different paragraphs of its pages. Downloads the package once."""
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob(f"{package}_*.deb")):
        subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
    package, = folder.glob(f"{package}_*.deb")
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True,
                          capture_output=True).stdout
    lines = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        for file in files:
            if file.name.endswith(".html"):
                page = HIDDEN.sub("", files.extractfile(file).read().decode())
                for block in BLOCK.split(page):
                    text = html.unescape(re.sub("<[^>]*>", "", block))
                    lines[" ".join(text.split())] = None
    return list(lines)


def code_lines():
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return [line for file in sorted(library.rglob("*.py"))
            if "site-packages" not in file.parts
            for line in file.read_text("utf-8", errors="ignore").splitlines()]


def texts(lines):
    """Neighbouring lines together, again and again until there are SIZE bytes."""
    made, part, size = [], [], 0
    while True:
        for line in lines:
            part.append(line)
            if sum(map(len, part)) > TEXT:
                made.append("\n".join(part))
                size += len(made[-1].encode())
                part = []
                if size > SIZE:
                    return made


def all_texts(folder):
    """{name: texts}"""
    made = {name: texts(help_lines(package, folder)) for name, package in HELP.items()}
    return {**made, "code": texts(code_lines())}
