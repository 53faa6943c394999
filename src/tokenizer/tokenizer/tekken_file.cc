#include "tokenizer/tekken_file.h"

#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/base64.h"
#include "tokenizer/json_part.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/tiktoken_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// A tree takes many times its text.
constexpr std::size_t kMostTekken = std::size_t{64} << 20U;
constexpr std::size_t kMostSpecialTokens = std::size_t{1} << 16U;

// What a file without special_tokens has.
constexpr auto kFirstSpecialTexts =
    std::to_array<std::string_view>({"<unk>",
                                     "<s>",
                                     "</s>",
                                     "[INST]",
                                     "[/INST]",
                                     "[AVAILABLE_TOOLS]",
                                     "[/AVAILABLE_TOOLS]",
                                     "[TOOL_RESULTS]",
                                     "[/TOOL_RESULTS]",
                                     "[TOOL_CALLS]",
                                     "[IMG]",
                                     "<pad>",
                                     "[IMG_BREAK]",
                                     "[IMG_END]",
                                     "[PREFIX]",
                                     "[MIDDLE]",
                                     "[SUFFIX]",
                                     "[SYSTEM_PROMPT]",
                                     "[/SYSTEM_PROMPT]",
                                     "[TOOL_CONTENT]"});

// The tokens with the ranks [0, count); the file may have more.
Result<std::vector<BytesToken>> read_tokens(const JsonPart& root,
                                            std::size_t count) {
  HEADWISE_ASSIGN(const auto entries, root.list("vocab"));
  std::vector<BytesToken> tokens;
  for (const JsonPart& entry : entries) {
    std::size_t rank = 0;
    std::string text;
    HEADWISE_TRY(entry.require("rank", rank));
    HEADWISE_TRY(entry.require("token_bytes", text));
    auto bytes = decode_base64(text);
    if (!bytes) {
      return entry.unexpected("token_bytes", "base64");
    }
    if (rank < count) {
      tokens.push_back({*std::move(bytes), static_cast<std::uint32_t>(rank)});
    }
  }
  if (tokens.size() != count) {
    return root.at("vocab").fault(
        message("has {} tokens with ranks below {}", tokens.size(), count),
        message("{}", count));
  }
  return tokens;
}

// A token for each of the ids [0, count).
Result<std::vector<SpecialText>> read_special_texts(const JsonPart& root,
                                                    std::size_t count) {
  std::vector<SpecialText> texts;
  std::unordered_set<std::string> seen;
  const auto add = [&](std::string text) {
    const bool differs = seen.insert(text).second && !text.empty();
    texts.push_back(
        {std::move(text), static_cast<std::uint32_t>(texts.size())});
    return differs;
  };
  if (!root.at("special_tokens").exists()) {
    for (const std::string_view text : kFirstSpecialTexts) {
      add(std::string(text));
    }
  } else {
    HEADWISE_ASSIGN(const auto entries, root.list("special_tokens"));
    for (const JsonPart& entry : entries) {
      std::size_t rank = 0;
      std::string text;
      HEADWISE_TRY(entry.require("rank", rank));
      HEADWISE_TRY(entry.require("token_str", text));
      if (rank != texts.size()) {
        return entry.unexpected("rank", message("{}", texts.size()));
      }
      if (!add(std::move(text))) {
        return entry.unexpected("token_str", "a text of its own");
      }
    }
  }
  if (texts.size() > count) {
    return root.at("config").unexpected("default_num_special_tokens",
                                        message("at least {}", texts.size()));
  }
  while (texts.size() < count) {
    add("<SPECIAL_" + std::to_string(texts.size()) + ">");
  }
  return texts;
}

}  // namespace

Result<TokenizerSpec> parse_tekken(std::string_view text,
                                   const FileSubject& subject) {
  constexpr int kDeepest = 16;
  const auto json = Json::parse(text, kMostTekken, kDeepest);
  if (!json) {
    return subject.bad_data(
        "is not JSON",
        message("a tekken.json of at most {} bytes", kMostTekken));
  }
  const JsonPart root(&*json, subject, "");
  const JsonPart config = root.at("config");
  std::string pattern;
  std::size_t vocabulary = 0;
  std::size_t special = 0;
  HEADWISE_TRY(config.require("pattern", pattern));
  HEADWISE_TRY(config.require("default_vocab_size", vocabulary));
  HEADWISE_TRY(config.require("default_num_special_tokens", special));
  if (special > kMostSpecialTokens) {
    return config.unexpected("default_num_special_tokens",
                             message("at most {}", kMostSpecialTokens));
  }
  if (vocabulary < special || vocabulary > kMostTokens) {
    return config.unexpected("default_vocab_size",
                             message("{} to {}", special, kMostTokens));
  }
  HEADWISE_ASSIGN(auto tokens, read_tokens(root, vocabulary - special));
  HEADWISE_ASSIGN(const auto texts, read_special_texts(root, special));
  HEADWISE_ASSIGN(auto spec, ranks_spec(std::move(tokens),
                                        static_cast<std::uint32_t>(special),
                                        pattern, texts, subject));
  Json& added = spec.json["added_tokens"];
  for (std::size_t n = 0; n < added.size(); ++n) {
    added[n]["in_text"] = false;
  }
  if (texts.size() > 1) {
    spec.json["post_processor"] =
        template_processing(NamedToken{texts[1].text, texts[1].id}, {});
  }
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
