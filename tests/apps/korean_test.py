"""The command in Korean: --lang for every command, help, reports, errors."""
import json
import re

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

HINT = "도움말: headwise --help"
HINT_OF = "도움말: headwise {} --help"
LABELLED = "".join(f"{label}\t{text}\n" for label, texts in
                   {"good": ["heads", "matter", "heads matter", "so heads"],
                    "bad": ["!", "& <", "! !", "< & !"]}.items()
                   for text in texts)


def has_hangul(text):
    return re.search("[가-힣]", text) is not None


class KoreanTest(CliTest):
    def commands(self):
        listed = self.succeed("--lang", "en").split("\nSubcommands:\n")[1]
        found = re.findall("^  ([a-z-]+) ", listed, re.MULTILINE)
        found.remove("help")  # shows the help of the others
        self.assertIn("view", found)
        return found

    def korean(self, *arguments, **options):
        return self.succeed(*arguments, "--lang", "ko", **options)

    def refuse(self, code, message, *arguments):
        done = self.run_it(*arguments, "--lang", "ko")
        self.assertEqual(done.returncode, code, done)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(lines[0], "headwise: " + message)
        hint = HINT_OF.format(arguments[0]) if arguments[0] in self.commands() else HINT
        self.assertEqual(lines[1:], [hint] if code == USAGE else [])


class HelpTest(KoreanTest):
    def test_every_command_takes_lang_before_and_after_its_name(self):
        for command in self.commands():
            with self.subTest(command):
                before = self.succeed("--lang", "ko", command, "--help")
                after = self.succeed(command, "--help", "--lang", "ko")
                by_locale = self.succeed(command, "--help",
                                         env={"LANG": "ko_KR.UTF-8"})
                english = self.succeed(command, "--help", "--lang", "en",
                                       env={"LANG": "ko_KR.UTF-8"})
                self.assertEqual(before, after)
                self.assertEqual(before, by_locale)
                self.assertTrue(before.startswith("예제:\n"), before)
                self.assertTrue(english.startswith("Examples:\n"), english)
                self.assertFalse(has_hangul(english))
        self.assertIn("\n명령:\n", self.succeed("--lang=ko"))

    def test_lines_fit_eighty_columns(self):
        for command in self.commands():
            text = self.korean(command, "--help")
            for line in text.split("\n\n", 1)[1].splitlines():
                wide = sum(2 if "가" <= c <= "힣" else 1 for c in line)
                self.assertLessEqual(wide, 80, line)

    def test_every_description_is_korean(self):
        for command in self.commands():
            text = self.korean(command, "--help").split("\n\n", 1)[1]
            for name, described in re.findall(
                    r"^  (--?[a-z,-]+)(?: .*?)?\n? {2,}(.*(?:\n {34}.*)*)", text,
                    re.MULTILINE):
                # Shapes are the same everywhere.
                self.assertTrue(has_hangul(described) or
                                described.startswith("("), (command, name))


class ErrorTest(KoreanTest):
    def test_errors_are_korean(self):
        self.refuse(USAGE, "--num-heads 값이 0입니다. 1 이상의 정수여야 합니다",
                    "explain", "--num-heads", "0")
        self.refuse(USAGE, "알 수 없는 명령입니다: explian. 혹시 explain을 "
                    "찾으셨나요?", "explian")
        self.refuse(USAGE, "--json과 --csv는 함께 쓸 수 없습니다", "stats",
                    "--json", "--csv")
        self.refuse(USAGE, "--lang 값이 de입니다. en, ko 중 하나여야 합니다", "explain", "--lang", "de")
        self.refuse(BAD_INPUT, "FILE: missing.txt: 그런 파일이나 폴더가 "
                    "없습니다", "encode", "--model", "m",
                    "missing.txt", "--out", "e.npy")

    def test_a_mistyped_command_behind_lang_is_found(self):
        done = self.run_it("--lang", "en", "explian")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(b"unknown command explian; did you mean explain?",
                      done.stderr)


class ReportTest(KoreanTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")
        self.put_text(LABELLED, "data.tsv")
        self.put_text("heads matter\n" + "heads " * 40 + "\n", "lines.txt")

    def assert_korean(self, text, *said):
        for sentence in said:
            self.assertIn(sentence, text)
        for english in ("accuracy", "before", "after", "heads", "layer",
                        "tokens ", "steps"):
            # File and option names are no words.
            self.assertNotIn(f" {english} ", text.replace("headwise", ""))

    def test_explain_with_dropout(self):
        text = self.korean("explain", "--embed-dim", "8", "--num-heads", "2",
                           "--dropout", "0.1", "--mask-kind", "padding")
        self.assert_korean(text, "토큰 시퀀스 10개(어휘 크기 100)에 셀프 어텐션을 "
                           "적용합니다: 헤드 2개, embed_dim 8.",
                           "개 드롭(", "lengths[b] = 시퀀스 b의 토큰 수")

    def test_encode_and_stats(self):
        self.assert_korean(
            self.korean("encode", "--model", "tiny", "lines.txt", "--out",
                        "e.npy"),
            "문장 2개, ", "그중 1개는 토큰이 12개를 넘어", "임베딩, 모양 (2, 8)")
        self.assert_korean(self.korean("stats", "--model", "tiny", "so"),
                           "tiny: 토큰 ", "레이어", "헤드")

    def test_bench(self):
        self.assertIn("인과 마스크", self.korean("bench", "--list"))
        heading = self.korean("bench", "--workload", "seed", "--rounds",
                              "1").splitlines()[:2]
        self.assertTrue(heading[0].endswith(", 스레드 1개"), heading)
        self.assert_korean(heading[1], "워크로드", "중앙값 ms")

    def test_notes_in_a_picture(self):
        self.korean("view", "--model", "tiny", "heads matter", "--sort",
                    "previous", "--svg", "heads.svg")
        picture = (self.folder / "heads.svg").read_text("utf-8")
        self.assertIn(">이전 토큰 0.", picture)
        self.assertNotIn("previous", picture)

    def test_train_on_generated_sequences(self):
        text = self.korean("train", "--steps", "2", "--out", "run")
        self.assert_korean(text, "손실: * 어텐션, o 균등 어텐션 가중치",
                           "정확도", "헤드마다 어디에 주목하는지 보려면")
        self.assertIn("과제 recall의 손실",
                      (self.folder / "run" / "curve.svg").read_text("utf-8"))

    def test_train_importance_and_prune(self):
        self.assert_korean(
            self.korean("train", "--model", "tiny", "--data", "data.tsv", "--out",
                        "model"),
            "텍스트 8개, 레이블 2개(bad, good).\n", "인코더는 그대로입니다",
            "항상 가장 흔한 레이블", "괄호 안은 95% 신뢰 구간입니다.")
        self.assert_korean(
            self.korean("importance", "--model", "model", "--data", "data.tsv",
                        "--out", "scores.json", "--svg", "scores.svg"),
            "헤드 4개의 gradient: 예제 8개", "중요도가 가장 낮은 헤드(먼저 제거): ")
        self.assertIn("예제 8개의 분류 손실",
                      (self.folder / "scores.svg").read_text("utf-8"))
        prune = ("prune", "--model", "model", "--scores", "scores.json")
        text = self.korean(*prune, "--remove", "1", "--data", "data.tsv", "--out",
                           "smaller")
        self.assert_korean(text, "헤드 4개 중 3개 유지, 기준 gradient",
                           "\n정확도      이전 ", "\n크기        이전 ",
                           "\n모델 전체   이전 ", "번갈아 측정한 ")
        text = self.korean(*prune, "--remove", "1", "--out", "other")
        self.assert_korean(text, "측정하지 않음: --data가 없습니다")
        text = self.korean(*prune, "--data", "data.tsv", "--curve", "curve.svg",
                           "--random", "2")
        self.assert_korean(text, "제거", "변화(%p)", "무작위 순서 2개의 평균",
                           "curve.svg: 정확도 곡선\n")
        picture = (self.folder / "curve.svg").read_text("utf-8")
        for said in ("헤드 제거에 따른 정확도", "무작위 순서 2개", "95% 신뢰 구간"):
            self.assertIn(said, picture)

    def test_json_is_the_same_in_every_language(self):
        arguments = ("stats", "--model", "tiny", "heads matter", "--json")
        self.assertEqual(self.korean(*arguments), self.succeed(*arguments))
        self.korean("train", "--model", "tiny", "--data", "data.tsv", "--out",
                    "model")
        arguments = ("importance", "--model", "model", "--data", "data.tsv",
                     "--out", "scores.json", "--json")
        self.assertEqual(json.loads(self.korean(*arguments)),
                         json.loads(self.succeed(*arguments)))
        told = json.loads(self.korean("prune", "--model", "model", "--scores",
                                      "scores.json", "--remove", "1", "--out",
                                      "out", "--json"))
        self.assertEqual(told["accuracy_not_measured"], "no --data given")


if __name__ == "__main__":
    cli_case.main()
