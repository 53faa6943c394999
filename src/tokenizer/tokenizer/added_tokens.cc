#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Result<AddedToken> read_added_token(const JsonPart& part) {
  AddedToken token;
  std::size_t id = 0;  // checked only: see AddedTokens::read()
  HEADWISE_TRY(part.require("id", id));
  HEADWISE_TRY(part.require("content", token.content));
  HEADWISE_TRY(part.require("single_word", token.single_word));
  HEADWISE_TRY(part.require("lstrip", token.lstrip));
  HEADWISE_TRY(part.require("rstrip", token.rstrip));
  HEADWISE_TRY(part.require("normalized", token.normalized));
  HEADWISE_TRY(part.require("special", token.special));
  HEADWISE_TRY(part.get("literal", token.literal));
  HEADWISE_TRY(part.get("in_text", token.in_text));
  return token;
}

bool touches_word(std::string_view before, std::string_view after) {
  return (!before.empty() && is_word(last_character(before).code)) ||
         (!after.empty() && is_word(first_character(after).code));
}

// How many bytes of white space a text ends with.
std::size_t trailing_space(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const Character last = last_character(text);
    if (!is_white_space(last.code)) {
      break;
    }
    text.remove_suffix(last.bytes);
  }
  return size - text.size();
}

std::size_t leading_space(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const Character first = first_character(text);
    if (!is_white_space(first.code)) {
      break;
    }
    text.remove_prefix(first.bytes);
  }
  return size - text.size();
}

// As the normalised text spells the token.
Result<std::string> normalized_content(const std::string& content,
                                       const Normalizer* normalizer) {
  if (normalizer == nullptr) {
    return content;
  }
  AlignedText text;
  AlignedText changed;
  text.view(content, 0);
  HEADWISE_ASSIGN(const bool is_changed, normalizer->apply(text, changed));
  return is_changed ? std::string(changed.text()) : content;
}

}  // namespace

AddedTokens::Pass AddedTokens::make_pass(const std::vector<AddedToken>& tokens,
                                         bool normalized) {
  Pass pass;
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (tokens[n].normalized == normalized && tokens[n].in_text) {
      pass.tokens.push_back(n);
      texts.push_back(tokens[n].text);
    }
  }
  pass.search = LiteralSearch(std::move(texts));
  return pass;
}

Result<AddedTokens> AddedTokens::read(const JsonPart& part,
                                      const TokenModel& model,
                                      const Normalizer* normalizer) {
  AddedTokens made;
  if (!part.at("added_tokens").exists()) {
    return made;
  }
  HEADWISE_ASSIGN(const auto parts, part.list("added_tokens"));
  made.tokens_.reserve(parts.size());  // texts stay where they are
  for (const JsonPart& item : parts) {
    HEADWISE_ASSIGN(auto token, read_added_token(item));
    if (token.content.empty() || made.find(token.content)) {
      continue;
    }
    HEADWISE_ASSIGN(
        token.text,
        normalized_content(token.content, token.normalized && !token.literal
                                              ? normalizer
                                              : nullptr));
    const auto known = model.find(token.content);
    token.id =
        known.value_or(static_cast<ModelId>(model.size() + made.new_tokens_));
    made.new_tokens_ += known ? 0 : 1;
    const std::size_t n = made.tokens_.size();
    made.tokens_.push_back(std::move(token));
    made.by_content_.emplace(made.tokens_[n].content, n);
    made.by_id_.emplace(made.tokens_[n].id, n);
  }
  made.before_ = make_pass(made.tokens_, false);
  made.after_ = make_pass(made.tokens_, true);
  return made;
}

void AddedTokens::cut(std::string_view text, bool normalized, bool special,
                      std::vector<TextPart>& parts) const {
  const Pass& pass = normalized ? after_ : before_;
  parts.clear();
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end,
                       std::optional<ModelId> token) {
    parts.push_back({static_cast<std::uint32_t>(begin),
                     static_cast<std::uint32_t>(end), token});
  };
  std::size_t from = 0;
  while (const auto found = pass.search.find(text, from)) {
    const AddedToken& token = tokens_[pass.tokens[found->literal]];
    std::size_t begin = found->begin;
    std::size_t end = found->end;
    from = end;
    if ((token.special && !special) ||
        (token.single_word &&
         touches_word(text.substr(0, begin), text.substr(end)))) {
      continue;
    }
    if (token.lstrip) {
      begin -= trailing_space(text.substr(0, begin));
      begin = std::max(begin, done);
    }
    if (token.rstrip) {
      end += leading_space(text.substr(end));
    }
    if (done < begin) {
      add(done, begin, {});
    }
    if (begin < end) {  // else the token before has swallowed it
      add(begin, end, token.id);
      done = end;
    }
  }
  if (done < text.size()) {
    add(done, text.size(), {});
  }
}

std::optional<ModelId> AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? std::optional<ModelId>()
                                    : std::optional(tokens_[found->second].id);
}

const AddedToken* AddedTokens::token(ModelId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

bool AddedTokens::is_special(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found != by_content_.end() && tokens_[found->second].special;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
