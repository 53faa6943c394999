"""Every option that takes a number refuses what is none."""
import re

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OK, USAGE, CliTest

COMMANDS = ("bench", "convert", "encode", "explain", "importance", "inspect",
            "prune", "run", "stats", "train", "view")
NUMBERS = {"N", "X", "P", "SHARE"}  # what the help says that they take
NO_NUMBERS = ("nan", "-nan", "inf", "-inf", "NaN", "infinity", "1e999", "nan%",
              "0x10", "1,5", "")


def texts_for(seen):
    """What the option refuses that is the seen-th: all of NO_NUMBERS. Under a
    sanitizer one, by turns, for every option has the same code."""
    if cli_case.SANITIZED:
        return NO_NUMBERS[seen % len(NO_NUMBERS):][:1]
    return NO_NUMBERS


class NumberOptionsTest(CliTest):
    def options_of(self, command):
        """The options of the help that take a number alone."""
        for flag in ("--help-all", "--help"):
            done = self.run_it(command, flag)
            if done.returncode == OK:
                break
        return [name for name, kind in re.findall(
            r"^ +(--[a-z-]+) ([^ ]+)", done.stdout.decode(), re.MULTILINE)
            if kind in NUMBERS]

    def test_each_option_of_each_command_refuses_each_of_them(self):
        seen = 0
        for command in COMMANDS:
            for option in self.options_of(command):
                seen += 1
                for text in texts_for(seen):
                    with self.subTest(f"{command} {option}={text}"):
                        message = self.fail_with(
                            USAGE, option, command, f"{option}={text}")
                        self.assertNotIn("required", message)
        self.assertGreater(seen, 30)

    def test_options_that_take_a_number_among_others(self):
        for name in "qkv":
            self.put(f"{name}.npy", 1, 1, 2, 4)
        run = ("run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
               "--out", "o.npy")
        for option, texts in (("--window", ("nan,0", "0,nan", "-inf,0")),
                              ("--query-start", ("nan", "inf", "-inf",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "92233720368547758070"))):
            for text in texts:
                with self.subTest(f"{option} {text}"):
                    self.fail_with(USAGE, f"{option} is {text}, expected",
                                   *run, option + "=" + text)
        for option in ("--head", "--layers"):
            with self.subTest(option):
                self.fail_with(USAGE, option, "view", "--query", "q.npy",
                               "--key", "k.npy", "--svg", "h.svg", option,
                               "nan")

    def test_numbers_of_heads_to_prune(self):
        tiny_model.write(self.folder / "tiny")
        self.put_text("heads\tyes\nmatter\tno\n", "data.tsv")
        self.succeed("train", "--model", "tiny", "--data", "data.tsv", "--out",
                     "model")
        self.succeed("importance", "--model", "model", "--data", "data.tsv",
                     "--method", "random", "--out", "s.json")
        for option in ("--remove", "--max-drop", "--keep"):
            for text in ("nan", "nan%", "-nan%", "inf%", "-1%"):
                with self.subTest(f"{option} {text}"):
                    self.fail_with(
                        USAGE, f"{option} is {text}, expected", "prune",
                        "--model", "model", "--scores", "s.json", "--data",
                        "data.tsv", "--out", "p", f"{option}={text}")

    def test_numbers_of_files(self):
        for name in "qkv":
            self.put(f"{name}.npy", 1, 1, 2, 4)
        nan = float("nan")
        self.put("slopes.npy", 1, values=[nan])
        self.put("lengths.npy", 1, values=[nan])
        for option, code, message in (
                ("--alibi", BAD_INPUT, "--alibi[0] is nan, expected"),
                ("--sinks", BAD_INPUT, "--sinks[0] is nan, expected"),
                ("--key-lengths", BAD_INPUT,
                 "--key-lengths: lengths.npy holds float32")):
            path = "lengths.npy" if option == "--key-lengths" else "slopes.npy"
            with self.subTest(option):
                self.fail_with(code, message, "run", "--query", "q.npy",
                               "--key", "k.npy", "--value", "v.npy", "--out",
                               "o.npy", option, path)


if __name__ == "__main__":
    cli_case.main()
