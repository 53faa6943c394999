#include "read_text.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "headwise/interop/file_subject.h"
#include "outcome.h"

namespace headwise::cli {
namespace {

Error cannot_read(std::string_view what, const std::string& path) {
  return system_error(
      {.operation = std::string(what), .file = name_of_text(path)}, errno);
}

}  // namespace

std::string name_of_text(const std::string& path) {
  return path == "-" ? std::string(kStandardInput) : path;
}

Result<std::string> read_text(std::string_view what, const std::string& path,
                              std::size_t most) {
  const bool standard_input = path == "-";
  std::FILE* file = stdin;
  do {
    file = standard_input ? stdin : std::fopen(path.c_str(), "rb");
  } while (file == nullptr && errno == EINTR);
  if (file == nullptr) {
    return cannot_read(what, path);
  }
  std::string text;
  std::array<char, 1 << 16> piece{};
  std::size_t count = 0;
  while (text.size() <= most &&
         (count = std::fread(piece.data(), 1, piece.size(), file)) > 0) {
    text.append(piece.data(), count);
  }
  const Error failure = cannot_read(what, path);
  const bool failed = std::ferror(file) != 0;
  if (!standard_input) {
    std::fclose(file);
  }
  if (text.size() > most) {
    return FileSubject{std::string(what), name_of_text(path)}.bad_data(
        message("is longer than {} bytes, the most that is read", most));
  }
  return failed ? Result<std::string>(failure) : std::move(text);
}

Status check_lines(const FileSubject& about,
                   std::span<const std::string_view> lines,
                   std::string_view expected) {
  if (lines.empty()) {
    return about.bad_data("is empty", std::string(expected));
  }
  for (std::size_t n = 0; n < lines.size(); ++n) {
    HEADWISE_TRY(
        check_utf8(about.of_entry(fmt::format("line {}", n + 1)), lines[n]));
  }
  return ok();
}

}  // namespace headwise::cli
