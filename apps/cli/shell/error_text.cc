#include "error_text.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <limits>
#include <string_view>
#include <utility>

#include "korean_particle.h"
#include "language.h"
#include "output.h"
#include "phrase.h"
#include "read_text.h"

namespace headwise::cli {
namespace {

// What the system says.
std::string system_words(int number) {
  constexpr auto kWords = std::to_array<std::pair<int, std::string_view>>({
      {EACCES, "권한이 없습니다"},
      {EAGAIN, "지금은 사용할 수 없습니다"},
      {EBADF, "열려 있지 않은 파일입니다"},
      {EBUSY, "다른 곳에서 사용하고 있습니다"},
      {EDQUOT, "디스크 할당량을 넘었습니다"},
      {EEXIST, "이미 있습니다"},
      {EFBIG, "파일이 너무 큽니다"},
      {EINTR, "중단되었습니다"},
      {EINVAL, "잘못된 인자입니다"},
      {EIO, "입출력 오류가 났습니다"},
      {EISDIR, "폴더입니다"},
      {ELOOP, "심볼릭 링크가 너무 많이 이어집니다"},
      {EMFILE, "열린 파일이 너무 많습니다"},
      {ENAMETOOLONG, "이름이 너무 깁니다"},
      {ENFILE, "시스템에 열린 파일이 너무 많습니다"},
      {ENODEV, "그런 장치가 없습니다"},
      {ENOENT, "그런 파일이나 폴더가 없습니다"},
      {ENOSPC, "디스크에 남은 공간이 없습니다"},
      {ENOTDIR, "폴더가 아닙니다"},
      {ENOTEMPTY, "폴더가 비어 있지 않습니다"},
      {ENXIO, "그런 장치가 없습니다"},
      {EPERM, "허용되지 않는 작업입니다"},
      {EPIPE, "파이프가 끊어졌습니다"},
      {EROFS, "읽기 전용 파일 시스템입니다"},
      {ESPIPE, "위치를 옮길 수 없는 파일입니다"},
      {ETXTBSY, "실행 중인 파일입니다"},
      {EXDEV, "다른 파일 시스템입니다"},
  });
  for (const auto& [known, words] : kWords) {
    if (known == number) {
      return std::string(words);
    }
  }
  return fmt::format("시스템 오류 {}번이 났습니다", number);
}

std::string memory_words(std::uint64_t bytes) {
  const std::string text = "메모리가 부족합니다";
  if (bytes == std::numeric_limits<std::uint64_t>::max()) {
    return text + ". 필요한 크기가 셀 수 있는 범위를 넘습니다";
  }
  constexpr int kMebi = 20;
  return bytes == 0 ? text
         : bytes >> kMebi == 0
             ? fmt::format("{}. {}바이트가 필요합니다", text, bytes)
             : fmt::format("{}. {} MiB가 필요합니다", text,
                           ((bytes - 1) >> kMebi) + 1);
}

// What an error says that has no words.
std::string words_of_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
      return "잘못된 인자입니다";
    case ErrorCode::shape_mismatch:
      return "모양이 맞지 않습니다";
    case ErrorCode::out_of_range:
      return "범위를 벗어났습니다";
    case ErrorCode::out_of_memory:
      return memory_words(error.bytes_needed());
    case ErrorCode::bad_data:
      return "잘못된 데이터입니다";
    case ErrorCode::io_error:
      return "입출력 오류가 났습니다";
    case ErrorCode::unsupported:
      return "지원하지 않습니다";
    case ErrorCode::device_error:
      return "장치 오류가 났습니다";
    case ErrorCode::rank_failure:
      return "다른 랭크가 실패했습니다";
  }
  return "오류가 났습니다";
}

// "line 3: tokens[1]"; one word is a name.
std::string korean_place(std::string_view text) {
  return text.find(' ') == std::string_view::npos ? std::string(text)
                                                  : korean_parts(text, ": ");
}

// What an error is about: its last part. The parts before it are the place.
struct Subject {
  std::string place;  // "read_npz: q.npz: ", or empty
  std::string name;   // empty: nothing but the operation is known
};

Subject subject_of(const ErrorDetails& is) {
  Subject subject;
  for (const std::string& part :
       {korean_place(is.operation),
        is.file == kStandardInput ? korean_place(is.file) : is.file,
        korean_place(is.entry), korean_place(is.argument)}) {
    if (!part.empty()) {
      subject.place += subject.name + (subject.name.empty() ? "" : ": ");
      subject.name = part;
    }
  }
  const bool of_operation =
      is.file.empty() && is.entry.empty() && is.argument.empty();
  if (of_operation && !subject.name.empty()) {
    subject.place = std::exchange(subject.name, "") + ": ";
  }
  return subject;
}

std::string given_sentence(const Error& error, const std::string& subject) {
  const ErrorDetails& is = error.details();
  const std::string text =
      is.system_error != 0 ? system_words(is.system_error)
      : is.given.empty()   ? words_of_code(error)
                         : korean_phrase(is.given, subject).value_or(is.given);
  return text.starts_with(subject) ? text : subject + ": " + text;
}

// What is missing is needed, what is wrong must be otherwise.
std::string expected_sentence(std::string_view given,
                              std::string_view expected) {
  std::string words = korean_phrase(expected).value_or(std::string(expected));
  if (words.ends_with('.')) {
    words.pop_back();
    return words;
  }
  const bool missing =
      given.ends_with("없습니다") || given.ends_with("비어 있습니다");
  return missing ? with_particle(words, "이/가") + " 필요합니다"
                 : with_particle(words, "이어야/여야") + " 합니다";
}

std::string korean_error(const Error& error) {
  const ErrorDetails& is = error.details();
  const auto [place, name] = subject_of(is);
  const std::string given = given_sentence(error, name);
  std::string text = place + given;
  if (is.byte) {
    text += fmt::format("(바이트 {})", *is.byte);
  }
  if (!is.expected.empty()) {
    text += ". " + expected_sentence(given, is.expected);
  }
  if (!is.hint.empty()) {
    text += ". " + korean_parts(is.hint, "; ");
  }
  return text;
}

}  // namespace

std::string error_text(const Error& error) {
  return one_line(language() == Language::ko ? korean_error(error)
                                             : error.message());
}

}  // namespace headwise::cli
