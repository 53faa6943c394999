#include "headwise/models/vocabulary.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/utf8.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Message line_text(std::size_t id) { return message("line {}", id + 1); }

Status check_line(std::string_view token, std::size_t id,
                  const FileSubject& subject) {
  const auto bad = [&](Message given, Message expected = {}) {
    return subject.of_entry(line_text(id).text())
        .bad_data(std::move(given), std::move(expected));
  };
  if (token.empty()) {
    return bad("is empty");
  }
  if (token.size() > kLongestToken) {
    return bad(message("has {} bytes", token.size()),
               message("at most {}", kLongestToken));
  }
  if (const auto at = find_invalid_utf8(token)) {
    return bad(
        message("is not UTF-8 text: its byte {} begins no character", *at));
  }
  return ok();
}

// `bytes`: nothing where there are too many to count.
Error too_large(const FileSubject& subject, std::optional<std::size_t> bytes) {
  return subject.bad_data(
      bytes ? message("has {} bytes", *bytes) : "has too many bytes",
      message("at most {}", kLargestVocabulary));
}

}  // namespace

std::string_view Vocabulary::token(TokenId id) const {
  const auto n = static_cast<std::size_t>(id);
  const std::size_t begin = n == 0 ? 0 : ends_[n - 1];
  return std::string_view{text_}.substr(begin, ends_[n] - begin);
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  const auto found = std::ranges::lower_bound(
      sorted_, token, {}, [this](std::uint32_t id) { return this->token(id); });
  if (found == sorted_.end() || this->token(*found) != token) {
    return {};
  }
  return *found;
}

Status Vocabulary::take_lines(std::string_view text,
                              const FileSubject& subject) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  text_.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    HEADWISE_TRY(check_line(line, size(), subject));
    text_ += line;
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  return size() > 0 ? ok() : subject.bad_data("is empty", "a token a line");
}

Status Vocabulary::sort_tokens(const FileSubject& subject) {
  sorted_.resize(size());
  std::iota(sorted_.begin(), sorted_.end(), 0U);
  std::ranges::sort(sorted_, {}, [this](std::uint32_t id) {
    return std::pair(token(id), id);
  });
  // The first line that repeats another.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> repeated;
  for (std::size_t n = 1; n < size(); ++n) {
    const std::uint32_t id = sorted_[n];
    const std::uint32_t before = sorted_[n - 1];
    if (token(id) == token(before) && (!repeated || id < repeated->first)) {
      repeated = {id, before};
    }
  }
  if (repeated) {
    return subject.of_entry(line_text(repeated->first).text())
        .bad_data(message("is \"{}\" again, the token of {}",
                          printable(token(repeated->first)),
                          line_text(repeated->second)));
  }
  return ok();
}

Status Vocabulary::find_special_tokens(const FileSubject& subject) {
  struct Special {
    std::string_view token;
    TokenId* id;  // null: it may be missing
  };
  for (const auto& [text, id] :
       {Special{"[PAD]", &pad_}, Special{"[UNK]", &unk_},
        Special{"[CLS]", &cls_}, Special{"[SEP]", &sep_},
        Special{"[MASK]", nullptr}}) {
    const std::optional<TokenId> found = find(text);
    if (found) {
      special_.push_back(*found);
    }
    if (id != nullptr) {
      if (!found) {
        return subject.bad_data(message("has no token {}", text));
      }
      *id = *found;
    }
  }
  return ok();
}

Result<Vocabulary> Vocabulary::make(std::string_view text,
                                    const FileSubject& subject) {
  if (text.size() > kLargestVocabulary) {
    return too_large(subject, text.size());
  }
  Vocabulary made;
  HEADWISE_TRY(made.take_lines(text, subject));
  HEADWISE_TRY(made.sort_tokens(subject));
  HEADWISE_TRY(made.find_special_tokens(subject));
  return made;
}

Result<Vocabulary> read_vocabulary(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<Vocabulary> {
    HEADWISE_ASSIGN(auto file, InputFile::open("read_vocabulary", path));
    if (file.size() && file.size() > kLargestVocabulary) {
      return too_large(file.subject(), file.size());
    }
    HEADWISE_ASSIGN(const auto bytes, read_bytes(file, kLargestVocabulary + 1,
                                                 /*certain=*/false));
    if (bytes.size() > kLargestVocabulary) {
      return too_large(file.subject(), {});
    }
    const std::string_view text = text_of(bytes);
    return Vocabulary::make(text, file.subject());
  });
}

Result<Vocabulary> parse_vocabulary(std::string_view text,
                                    std::string_view name) {
  return catching_out_of_memory([&]() -> Result<Vocabulary> {
    return Vocabulary::make(text, {"parse_vocabulary", std::string(name)});
  });
}

}  // namespace headwise::inline HEADWISE_ABI
