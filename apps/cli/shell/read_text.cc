#include "read_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "headwise/models/utf8.h"

namespace headwise::cli {
namespace {

Error cannot_read(std::string_view what, const std::string& path) {
  return {ErrorCode::io_error,
          {.operation = std::string(what),
           .file = name_of_text(path),
           .system_error = errno,
           .given = std::strerror(errno)}};
}

}  // namespace

std::string name_of_text(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<std::string> read_text(std::string_view what, const std::string& path,
                              std::size_t most) {
  const bool standard_input = path == "-";
  std::FILE* file = standard_input ? stdin : std::fopen(path.c_str(), "rb");
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
        fmt::format("is longer than {} bytes, the most that is read", most));
  }
  return failed ? Result<std::string>(failure) : std::move(text);
}

Status check_utf8_text(const FileSubject& about, std::string_view text) {
  return check_utf8(
      {.operation = about.operation, .file = about.file, .entry = about.entry},
      text);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) {  // a byte order mark
    text.remove_prefix(3);
  }
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace headwise::cli
