#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/find_heads.h"
#include "headwise/models/special_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kFewest = 2;

bool begins_a_word(std::string_view token) {
  if (token.empty()) {
    return false;
  }
  const bool bracketed = (token.front() == '[' && token.back() == ']') ||
                         (token.front() == '<' && token.back() == '>');
  return !is_special(token) && !(bracketed && token.size() > 2) &&
         !(token.starts_with("##") && token.size() > 2);
}

std::vector<TokenId> word_tokens(const TextModel& model) {
  std::vector<TokenId> words;
  for (std::size_t n = 0; n < model.shape().vocab_size; ++n) {
    const auto id = static_cast<TokenId>(n);
    if (begins_a_word(model.token(id))) {
      words.push_back(id);
    }
  }
  return words;
}

Error too_few(std::string_view argument, std::size_t given,
              std::size_t expected) {
  return value_error("repeated_random_tokens", argument, std::to_string(given),
                     message("at least {}", expected), ErrorCode::unsupported);
}

}  // namespace

Result<RaggedTokens> repeated_random_tokens(const TextModel& model,
                                            const RepeatedTokens& wanted) try {
  const TextModelShape& shape = model.shape();
  std::vector<TokenId> words = word_tokens(model);
  const std::size_t room = (shape.max_positions - shape.added_tokens) / 2;
  const std::size_t length = std::min({wanted.length, words.size(), room});
  if (words.size() < kFewest) {
    return too_few("number of words in the vocabulary", words.size(), kFewest);
  }
  if (length < kFewest) {
    return too_few("number of positions", shape.max_positions,
                   shape.added_tokens + 2 * kFewest);
  }
  std::vector<TokenId> added;
  if (shape.added_tokens != 0) {
    HEADWISE_ASSIGN(auto empty, model.encode("", shape.added_tokens));
    added = std::move(empty.ids);
  }
  const auto behind =
      added.begin() + static_cast<std::ptrdiff_t>((added.size() + 1) / 2);
  std::vector<float> draws(wanted.texts * length);
  RandomStream(wanted.seed, 0).fill_uniform(draws, 0, 1);
  RaggedTokens texts(wanted.texts);
  auto draw = draws.begin();
  for (auto& text : texts) {
    // The first steps of a shuffle (Fisher & Yates).
    for (std::size_t t = 0; t < length; ++t) {
      const auto left = static_cast<double>(words.size() - t);
      const auto chosen =
          static_cast<std::size_t>(static_cast<double>(*draw++) * left);
      std::swap(words[t], words[t + chosen]);
    }
    text.assign(added.begin(), behind);
    for (int copy = 0; copy < 2; ++copy) {
      text.insert(text.end(), words.begin(),
                  words.begin() + static_cast<std::ptrdiff_t>(length));
    }
    text.insert(text.end(), behind, added.end());
  }
  return texts;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
