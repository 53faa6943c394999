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
  token.text = token.content;
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

Status normalize_text(const Normalizer& normalizer, AddedToken& token) {
  AlignedText text;
  AlignedText changed;
  text.view(token.content, 0);
  HEADWISE_ASSIGN(const bool is_changed, normalizer.apply(text, changed));
  if (is_changed) {
    token.text = changed.text();
  }
  return ok();
}

// The tokens of one pass keep their numbers; empty texts are never found.
LiteralSearch search_for(const std::vector<AddedToken>& tokens,
                         bool normalized) {
  std::vector<std::string> texts;
  for (const AddedToken& token : tokens) {
    const bool searched = token.normalized == normalized && token.in_text;
    texts.push_back(searched ? token.text : "");
  }
  return LiteralSearch(texts);
}

}  // namespace

Result<AddedTokens> AddedTokens::read(const JsonPart& part,
                                      const TokenModel& model,
                                      const Normalizer& normalizer) {
  AddedTokens made;
  if (!part.at("added_tokens").exists()) {
    return made;
  }
  HEADWISE_ASSIGN(const auto parts, part.list("added_tokens"));
  for (const JsonPart& item : parts) {
    HEADWISE_ASSIGN(auto token, read_added_token(item));
    if (token.content.empty() || made.find(token.content)) {
      continue;
    }
    if (token.normalized && !token.literal) {
      HEADWISE_TRY(normalize_text(normalizer, token));
    }
    const auto known = model.find(token.content);
    token.id =
        known.value_or(static_cast<ModelId>(model.size() + made.new_tokens_));
    made.new_tokens_ += known ? 0 : 1;
    const auto n = static_cast<std::uint32_t>(made.tokens_.size());
    made.by_content_.add(token.content, n);
    made.by_id_.emplace(token.id, n);
    made.tokens_.push_back(std::move(token));
  }
  made.before_ = search_for(made.tokens_, false);
  made.after_ = search_for(made.tokens_, true);
  return made;
}

void AddedTokens::cut(std::string_view text, bool normalized, bool special,
                      std::vector<TextPart>& parts) const {
  const LiteralSearch& search = normalized ? after_ : before_;
  parts.clear();
  std::uint32_t done = 0;
  std::size_t from = 0;
  while (const auto found = search.find(text, from)) {
    const AddedToken& token = tokens_[found->literal];
    from = found->end;
    auto begin = static_cast<std::uint32_t>(found->begin);
    auto end = static_cast<std::uint32_t>(found->end);
    if ((token.special && !special) ||
        (token.single_word &&
         touches_word(text.substr(0, begin), text.substr(end)))) {
      continue;
    }
    if (token.lstrip) {
      begin = std::max(begin - trailing_space(text.substr(0, begin)), done);
    }
    if (token.rstrip) {
      end += leading_space(text.substr(end));
    }
    if (done < begin) {
      parts.push_back({done, begin});
    }
    if (begin < end) {  // else the token before has swallowed it
      parts.push_back({begin, end, token.id});
      done = end;
    }
  }
  if (done < text.size()) {
    parts.push_back({done, static_cast<std::uint32_t>(text.size())});
  }
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto n = by_content_.find(content);
  return n ? &tokens_[*n] : nullptr;
}

const AddedToken* AddedTokens::token(ModelId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
