// Texts as all commands read them: TEXT, and --texts, a file with one text per
// line.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// Numbers for every head and text are kept until the last one is known.
inline constexpr std::size_t kMostTexts = 10000;

struct TextFile {
  std::shared_ptr<const std::string> bytes;  // what the views point into
  std::vector<std::string_view> texts{};
  std::vector<std::size_t> lines{};  // of the texts, from 1
  std::size_t empty_lines = 0;       // left out: nothing but spaces and tabs
};

// `path` may be "-". Errors: those of read_text(); bad_data for a line that is
// not UTF-8, for no text and for more than kMostTexts.
Result<TextFile> read_text_file(const std::string& path);

// TEXT itself, or the standard input if it is "-". Errors: those of
// read_text(); bad_data for bytes that are not UTF-8.
Result<std::string> read_text_argument(const std::string& text);

// "empty lines left out: 2", as a line; nothing without them.
std::string empty_lines_text(std::size_t empty_lines);
// "2 texts had more than 256 tokens; the rest was cut off", as a line; nothing
// without them.
std::string cut_texts_text(std::size_t cut, std::size_t max_tokens);

}  // namespace headwise::cli
