#include "korean_errors.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "korean_particle.h"

namespace headwise::cli {
namespace {

// In `en` {} stands for any text and {w} for text without a space. In `ko` {0}
// is the first of them, and {0:은/는} has the particle that fits it.
struct Pattern {
  std::string_view en;
  std::string_view ko;
};

// Whole sentences. The first that fits is taken.
constexpr std::array kFrames = {
    Pattern{"unknown option {}", "알 수 없는 옵션입니다: {0}"},
    Pattern{"unknown command {}", "알 수 없는 명령입니다: {0}"},
    Pattern{
        "unexpected argument {}: a sentence needs {}",
        "예상하지 못한 인자입니다: {0}. 문장을 주려면 {1:이/가} 필요합니다"},
    Pattern{
        "unexpected argument {}: a text needs {}",
        "예상하지 못한 인자입니다: {0}. 텍스트를 주려면 {1:이/가} 필요합니다"},
    Pattern{"unexpected argument {}", "예상하지 못한 인자입니다: {0}"},
    Pattern{"{} has no value, expected {}",
            "{0}에 값이 없습니다. {1:이/가} 필요합니다"},
    Pattern{"{} has a value, expected none", "{0}에는 값을 주지 않습니다"},
    Pattern{"{} was given more than once, expected once",
            "{0:을/를} 두 번 이상 주었습니다. 한 번만 줄 수 있습니다"},
    Pattern{"{} is required with {}", "{1:을/를} 쓰려면 {0:이/가} 필요합니다"},
    Pattern{"{} is required", "{0:이/가} 필요합니다"},
    Pattern{"{} is given, expected {} too",
            "{0:을/를} 쓰려면 {1:이/가} 필요합니다"},
    Pattern{"{} is given with --model, expected {} too",
            "--model과 {0:을/를} 함께 쓰려면 {1:이/가} 필요합니다"},
    Pattern{"{} needs an accuracy: {}",
            "{0:을/를} 쓰려면 정확도를 잴 수 있어야 합니다: {1}"},
    Pattern{"{} needs {}", "{0:을/를} 쓰려면 {1:이/가} 필요합니다"},
    Pattern{"{} and {} exclude each other",
            "{0:과/와} {1:은/는} 함께 쓸 수 없습니다"},
    Pattern{"{} and {} are both standard input",
            "{0:과/와} {1:이/가} 모두 표준 입력입니다"},
    Pattern{"give {} or {}, not both",
            "{0:과/와} {1:은/는} 함께 줄 수 없습니다"},
    Pattern{"{} cannot stand beside --model, whose layers are what its folder "
            "says",
            "{0:은/는} --model과 함께 쓸 수 없습니다. 레이어는 모델 폴더가 "
            "정합니다"},
    Pattern{"{} is of the tasks, expected no such option with --model",
            "{0:은/는} 과제의 옵션이므로 --model과 함께 쓸 수 없습니다"},
    Pattern{"{} is for --scoring dot; additive scores have none",
            "{0:은/는} --scoring dot에만 씁니다. 가산 점수에는 없습니다"},
    Pattern{
        "{} is for {}; without it the tensors say how many",
        "{0:은/는} {1:과/와} 함께 씁니다. 없으면 텐서의 모양으로 정해집니다"},
    Pattern{"{} is for {}", "{0:은/는} {1}에만 씁니다"},
    Pattern{"{} computes nothing: leave {} and {} out",
            "{0:은/는} 계산하지 않으므로 {1:과/와} {2:을/를} 빼야 합니다"},
    Pattern{
        "--step {} is no step of this job, expected {}",
        "--step {0:은/는} 이 작업의 단계가 아닙니다. {1:이어야/여야} 합니다"},
    Pattern{"{} is given for two outputs",
            "{0:이/가} 두 출력에 함께 주어졌습니다"},
    Pattern{"{} has no text, expected one: {}", "{0}에 텍스트가 없습니다: {1}"},
    Pattern{"{} has no sentence, expected one: {}",
            "{0}에 문장이 없습니다: {1}"},
    Pattern{"{} is empty, expected {}",
            "{0:이/가} 비어 있습니다. {1:이/가} 필요합니다"},
    Pattern{"{} has shape {}, expected {}",
            "{0}의 모양이 {1}입니다. {2:이어야/여야} 합니다"},
    Pattern{"{} has no {}, expected {}",
            "{0}에 {1:이/가} 없습니다. {2:이/가} 필요합니다"},
    Pattern{"{} and {} name one file, {}, expected different ones",
            "{0:과/와} {1:이/가} 같은 파일({2})입니다. 서로 달라야 합니다"},
    Pattern{
        "{} is {}, which {} reads, expected another file",
        "{0} 값 {1:은/는} {2:이/가} 읽는 파일입니다. 다른 파일이어야 합니다"},
    Pattern{"{} is longer than {} bytes, the most that is read",
            "{0:이/가} 너무 큽니다. 최대 {1}바이트까지 읽습니다"},
    Pattern{"{} is {}, which holds an earlier model: expected another folder, "
            "or --force to replace it",
            "{0} 값 {1}에 이전 모델이 있습니다. 다른 폴더를 주거나, 바꾸려면 "
            "--force를 주세요"},
    Pattern{"{} is {}, which holds {}, no file of a model: expected another "
            "folder, or --force to write beside such files",
            "{0} 값 {1}에 모델의 파일이 아닌 {2:이/가} 있습니다. 다른 폴더를 "
            "주거나, 그대로 두고 쓰려면 --force를 주세요"},
    Pattern{"{} is {}, which holds the {} of an earlier run: expected another "
            "folder, --resume to continue that run, or --force to replace it",
            "{0} 값 {1}에 이전 실행의 {2:이/가} 있습니다. 다른 폴더를 주거나, "
            "이어서 하려면 --resume, 바꾸려면 --force를 주세요"},
    Pattern{"{} has no classifier; train one with: {}",
            "{0}에 분류기가 없습니다. 이렇게 학습할 수 있습니다: {1}"},
    Pattern{"{} needs {}: the file does not say how many heads the "
            "layer has",
            "{0:을/를} 쓰려면 {1:이/가} 필요합니다. 파일에 헤드 수가 없습니다"},
    Pattern{"{}: {}; headwise downloads nothing: fetch the folder first, "
            "such as with {}, or with {}",
            "{0}: {1}. headwise는 아무것도 내려받지 않습니다. 먼저 폴더를 받아 "
            "두세요. 예: {2} 또는 {3}"},
    Pattern{"{} is not given, expected {}",
            "{0:이/가} 없습니다. {1:이/가} 필요합니다"},
    Pattern{"{} is {}, expected {}",
            "{0} 값이 {1}입니다. {2:이어야/여야} 합니다"},
    Pattern{"expected either {} or {}", "{0:과/와} {1} 중 하나가 필요합니다"},
    Pattern{"expected {}, or {}", "{0} 또는 {1:이/가} 필요합니다"},
    Pattern{"expected {}", "{0:이/가} 필요합니다"},
    Pattern{"cannot write to standard output: {}",
            "표준 출력에 쓸 수 없습니다: {0}"},
    Pattern{"cannot read {}: {}", "{0:을/를} 읽을 수 없습니다: {1}"},
    Pattern{"cannot write {}: {}", "{0:을/를} 쓸 수 없습니다: {1}"},
    Pattern{"cannot open {}: {}", "{0:을/를} 열 수 없습니다: {1}"},
    Pattern{"{} cannot be made: {}", "{0:을/를} 만들 수 없습니다: {1}"},
    Pattern{"out of memory: more bytes are needed than can be counted",
            "메모리가 부족합니다. 필요한 크기가 셀 수 있는 범위를 넘습니다"},
    Pattern{"out of memory: {w} bytes are needed",
            "메모리가 부족합니다. {0}바이트가 필요합니다"},
    Pattern{"out of memory", "메모리가 부족합니다"},
};

// What is given or expected, and what the system says.
constexpr std::array kPhrases = {
    Pattern{"a value", "값"},
    Pattern{"a whole number from {w} on", "{0} 이상의 정수"},
    Pattern{"a whole number", "정수"},
    Pattern{"a number that fits 64 bits", "64비트에 들어가는 수"},
    Pattern{"a number from {w} to {w}", "{0}에서 {1} 사이의 수"},
    Pattern{"a number from {w} on", "{0} 이상의 수"},
    Pattern{"a number", "수"},
    Pattern{"finite numbers", "유한한 수"},
    Pattern{"two whole numbers from 0 on, or inf for no limit, such as {}",
            "0 이상의 정수 두 개 또는 제한 없음을 뜻하는 inf(예: {0})"},
    Pattern{"a share above 0 and at most 1", "0보다 크고 1 이하인 비율"},
    Pattern{"a number of heads from 0 to {w}, or a share such as 40%",
            "0에서 {0} 사이의 헤드 수 또는 40% 같은 비율"},
    Pattern{"points of accuracy from 0% to 100%, such as 1%",
            "0%에서 100% 사이의 정확도 차이(예: 1%)"},
    Pattern{"at most the {w} heads there are", "전체 헤드 수인 {0} 이하"},
    Pattern{"numbers from 0 to {w}, such as {}",
            "0에서 {0} 사이의 번호(예: {1})"},
    Pattern{"one of {}, {} and {} beside {}",
            "{3:과/와} 함께 {0}, {1}, {2} 중 하나"},
    Pattern{"one of {}, {} and {}", "{0}, {1}, {2} 중 하나"},
    Pattern{"one of {}", "{0} 중 하나"},
    Pattern{"a multiple of {}, which is {w}", "{0}({1})의 배수"},
    Pattern{"a divisor of {}, which is {w}", "{0}({1})의 약수"},
    Pattern{"another folder than {}'s", "{0:과/와} 다른 폴더"},
    Pattern{"a name that ends in {w} or {w}",
            "{0:이나/나} {1:으로/로} 끝나는 이름"},
    Pattern{"one sentence a line", "한 줄에 문장 하나"},
    Pattern{"one example a line", "한 줄에 예제 하나"},
    Pattern{"at most {w}", "{0} 이하"},
    Pattern{"at least {w}", "{0} 이상"},
    Pattern{"less than {w}", "{0} 미만"},
    Pattern{"{w} to {w}", "{0}에서 {1} 사이"},
    Pattern{"standard input", "표준 입력"},
    Pattern{"empty", "빈 값"},
    Pattern{"there is no --data", "--data가 없습니다"},
    Pattern{"--data has no labels", "--data에 레이블이 없습니다"},
    Pattern{"No such file or directory", "그런 파일이나 폴더가 없습니다"},
    Pattern{"Permission denied", "권한이 없습니다"},
    Pattern{"Is a directory", "폴더입니다"},
    Pattern{"Not a directory", "폴더가 아닙니다"},
    Pattern{"File exists", "이미 있습니다"},
    Pattern{"No space left on device", "디스크에 남은 공간이 없습니다"},
    Pattern{"Read-only file system", "읽기 전용 파일 시스템입니다"},
    Pattern{"File too large", "파일이 너무 큽니다"},
    Pattern{"Input/output error", "입출력 오류가 났습니다"},
};

// ---- Matching. ----

using Holes = std::vector<std::string_view>;

// Takes the hole that `pattern` begins with from `text`, up to what follows it
// in the pattern.
bool take_hole(std::string_view& pattern, std::string_view& text,
               Holes& holes) {
  const bool word = pattern.starts_with("{w}");
  pattern.remove_prefix(word ? 3 : 2);
  const std::string_view next = pattern.substr(0, pattern.find('{'));
  std::size_t end = text.size();
  if (next.size() == pattern.size()) {  // the last hole: what ends the pattern
    if (!text.ends_with(next)) {        // ends the text
      return false;
    }
    end -= next.size();
  } else {
    end = text.find(next);
  }
  if (end == std::string_view::npos || end == 0) {
    return false;
  }
  holes.push_back(text.substr(0, end));
  text.remove_prefix(end);
  return !word || holes.back().find(' ') == std::string_view::npos;
}

std::optional<Holes> match(std::string_view pattern, std::string_view text) {
  Holes holes;
  while (!pattern.empty()) {
    if (pattern.front() == '{') {
      if (!take_hole(pattern, text, holes)) {
        return std::nullopt;
      }
      continue;
    }
    const std::string_view literal = pattern.substr(0, pattern.find('{'));
    if (!text.starts_with(literal)) {
      return std::nullopt;
    }
    pattern.remove_prefix(literal.size());
    text.remove_prefix(literal.size());
  }
  return text.empty() ? std::optional(holes) : std::nullopt;
}

// ---- Translating. ----

std::string phrase(std::string_view text);

// `korean` with the holes in their places, each in Korean where it has any.
std::string filled(std::string_view korean, const Holes& holes) {
  std::string text;
  while (!korean.empty()) {
    const std::size_t open = korean.find('{');
    text += korean.substr(0, open);
    if (open == std::string_view::npos) {
      break;
    }
    const std::size_t close = korean.find('}', open);
    const std::string_view hole = korean.substr(open + 1, close - open - 1);
    const std::string said =
        phrase(holes[static_cast<std::size_t>(hole.front() - '0')]);
    text += hole.size() > 1 ? with_particle(said, hole.substr(2)) : said;
    korean.remove_prefix(close + 1);
  }
  return text;
}

std::optional<std::string> translated(std::string_view text,
                                      std::span<const Pattern> patterns) {
  for (const Pattern& pattern : patterns) {
    if (const auto holes = match(pattern.en, text)) {
      return filled(pattern.ko, *holes);
    }
  }
  return std::nullopt;
}

std::string phrase(std::string_view text) {
  return translated(text, kPhrases).value_or(std::string(text));
}

// A sentence, which may begin with its place: "explain: ", "--data: FILE: ".
std::optional<std::string> sentence(std::string_view text) {
  if (auto whole = translated(text, kFrames)) {
    return whole;
  }
  if (auto whole = translated(text, kPhrases)) {
    return whole;
  }
  constexpr std::string_view kColon = ": ";
  const std::size_t colon = text.find(kColon);
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto rest = sentence(text.substr(colon + kColon.size()));
  return rest ? std::optional(std::string(text.substr(0, colon)) +
                              std::string(kColon) + *rest)
              : std::nullopt;
}

// The name in "...; did you mean NAME?", which is taken off; empty where there
// is none.
std::string_view take_suggestion(std::string_view& message) {
  constexpr std::string_view kQuestion = "; did you mean ";
  const std::size_t at = message.rfind(kQuestion);
  if (at == std::string_view::npos || !message.ends_with('?')) {
    return {};
  }
  std::string_view name = message.substr(at + kQuestion.size());
  name.remove_suffix(1);
  message = message.substr(0, at);
  return name;
}

}  // namespace

std::string korean_error(std::string_view message) {
  const std::string_view suggestion = take_suggestion(message);
  std::string text =
      sentence(message).value_or("오류: " + std::string(message));
  if (!suggestion.empty()) {
    text += ". 혹시 " + with_particle(suggestion, "을/를") + " 찾으셨나요?";
  }
  return text;
}

}  // namespace headwise::cli
