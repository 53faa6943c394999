#include "headwise/train/labelled_text.h"

#include <algorithm>
#include <set>

#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/sha256.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/utf8.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kLabelledText = "read_labelled_text";

// What errors about the file are about.
FileSubject file_of(const std::string& file) {
  return {std::string(kLabelledText), file};
}

// The same of a line of it.
FileSubject line_of(const std::string& file, std::size_t line) {
  return file_of(file).of_entry("line " + std::to_string(line));
}

Status check_line(const std::string& file, std::size_t number,
                  std::string_view line, bool labelled) {
  const FileSubject subject = line_of(file, number);
  HEADWISE_TRY(check_utf8(subject, line));
  const std::size_t tab = line.find('\t');
  if ((tab != std::string_view::npos) != labelled) {
    return labelled
               ? subject.bad_data("has no tab", "label<TAB>text as in line 1")
               : subject.bad_data("has a tab", "text alone as in line 1");
  }
  const std::string_view words = labelled ? line.substr(tab + 1) : line;
  if (words.find_first_not_of(" \t") == std::string_view::npos) {
    return subject.bad_data("has no text");
  }
  return labelled && tab == 0
             ? subject.bad_data("has no label", "label<TAB>text")
             : ok();
}

// A label as a message shows it: at most 40 characters.
std::string short_label(std::string_view label) {
  constexpr std::size_t kMost = 40;
  constexpr std::string_view kMore = "...";
  std::size_t characters = 0;
  std::size_t cut = 0;  // bytes of the first kMost - 3 characters
  std::size_t at = 0;
  while (at < label.size() && characters <= kMost) {
    cut = characters == kMost - kMore.size() ? at : cut;
    const auto character = decode_utf8(label.substr(at));
    at += character ? character->bytes : 1;
    ++characters;
  }
  return characters <= kMost
             ? printable(label)
             : printable(label.substr(0, cut)) + std::string(kMore);
}

Message short_list(const std::vector<std::string>& labels) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t n = 0; n < std::min(labels.size(), kMost); ++n) {
    text += (n == 0 ? "" : ", ") + short_label(labels[n]);
  }
  return labels.size() <= kMost
             ? text
             : message("{} and {} more", text, labels.size() - kMost);
}

}  // namespace

std::string LabelledText::sha256() const { return sha256_of(*bytes); }

Result<LabelledText> read_labelled_text(const std::string& path) try {
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  HEADWISE_ASSIGN(auto file, InputFile::open(kLabelledText, path));
  HEADWISE_ASSIGN(const auto bytes,
                  read_bytes(file, kMostBytes + 1, /*certain=*/false));
  if (bytes.size() > kMostBytes) {
    return file_of(path).bad_data(
        message("is longer than {} bytes, the most that is read", kMostBytes));
  }
  return parse_labelled_text(text_of(bytes), path);
} catch (...) {
  return caught_out_of_memory();
}

Result<LabelledText> parse_labelled_text(std::string_view bytes,
                                         const std::string& file) try {
  LabelledText text;
  text.bytes = std::make_shared<const std::string>(bytes);
  text.file = file;
  const std::vector<std::string_view> lines = text_lines(*text.bytes);
  if (lines.empty()) {
    return file_of(file).bad_data("is empty", "one example per line");
  }
  const bool labelled = lines.front().find('\t') != std::string_view::npos;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    HEADWISE_TRY(check_line(file, n + 1, lines[n], labelled));
    const std::size_t tab = lines[n].find('\t');
    text.texts.push_back(labelled ? lines[n].substr(tab + 1) : lines[n]);
    if (labelled) {
      text.labels.push_back(lines[n].substr(0, tab));
    }
  }
  return text;
} catch (...) {
  return caught_out_of_memory();
}

LabelledText spread_examples(LabelledText text, std::size_t count) {
  const std::size_t total = text.texts.size();
  if (count == 0 || count >= total) {
    return text;
  }
  LabelledText some{text.bytes, {}, {}, text.file, {}};
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t at = n * total / count;
    some.texts.push_back(text.texts[at]);
    some.lines.push_back(text.line_of(at));
    if (text.labelled()) {
      some.labels.push_back(text.labels[at]);
    }
  }
  return some;
}

std::vector<std::string> distinct_labels(const LabelledText& text) {
  const std::set<std::string_view> labels(text.labels.begin(),
                                          text.labels.end());
  return {labels.begin(), labels.end()};
}

Result<std::vector<std::int64_t>> targets_of(
    const LabelledText& text, const std::vector<std::string>& labels) try {
  std::vector<std::int64_t> targets;
  for (std::size_t n = 0; n < text.labels.size(); ++n) {
    const auto found = std::ranges::find(labels, text.labels[n]);
    if (found == labels.end()) {
      return line_of(text.file, text.line_of(n))
          .bad_data(message("has the label {}", short_label(text.labels[n])),
                    message("one of the model's: {}", short_list(labels)));
    }
    targets.push_back(found - labels.begin());
  }
  return targets;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
