#include "text_file.h"

#include <fmt/format.h>

#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/train/labelled_text.h"
#include "shell/quantity_text.h"
#include "shell/read_text.h"
#include "shell/say.h"

namespace headwise::cli {

Result<TextFile> read_text_file(const std::string& path) {
  HEADWISE_ASSIGN(auto bytes, read_text("--texts", path));
  TextFile file{.bytes = std::make_shared<const std::string>(std::move(bytes))};
  const auto lines = text_lines(*file.bytes);
  const FileSubject about{"--texts", name_of_text(path)};
  HEADWISE_TRY(check_lines(about, lines, "one text per line"));
  for (std::size_t n = 0; n < lines.size(); ++n) {
    if (lines[n].find_first_not_of(" \t") == std::string_view::npos) {
      ++file.empty_lines;
    } else {
      file.texts.push_back(lines[n]);
      file.lines.push_back(n + 1);
    }
  }
  if (file.texts.empty()) {
    return about.bad_data("has empty lines only", "one text per line");
  }
  if (file.texts.size() > kMostTexts) {
    return about.bad_data(message("has {} texts", file.texts.size()),
                          message("at most {}", kMostTexts));
  }
  return file;
}

Result<std::string> read_text_argument(const std::string& text) {
  const bool piped = text == "-";
  HEADWISE_ASSIGN(auto bytes, piped ? read_text("text", text) : text);
  HEADWISE_TRY(check_utf8(
      FileSubject{"text", piped ? name_of_text(text) : "TEXT"}, bytes));
  return bytes;
}

std::string empty_lines_text(std::size_t empty_lines) {
  return empty_lines == 0 ? std::string()
                          : say("empty lines left out: {}\n", empty_lines);
}

std::string cut_texts_text(std::size_t cut, std::size_t max_tokens) {
  return cut == 0 ? std::string()
                  : say("{0} text{2} had more than {1} tokens; the rest was "
                        "cut off\n",
                        cut, max_tokens, plural(cut));
}

}  // namespace headwise::cli
