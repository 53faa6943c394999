#include "tokenizer/token_model.h"

#include <array>

#include "tokenizer/json_part.h"
#include "tokenizer/models.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr auto kModelTypes = std::to_array<std::string_view>(
    {"BPE", "WordPiece", "WordLevel", "Unigram"});
enum ModelType : std::size_t { kBpe, kWordPiece, kWordLevel, kUnigram };

// The first type, in the order above, that has its keys: old files have no
// "type".
Result<std::size_t> guessed_type(const JsonPart& model,
                                 const TokenizerSpec& spec) {
  const auto has = [&](std::string_view key) { return model.at(key).exists(); };
  if (!spec.pieces.empty()) {
    return kUnigram;
  }
  if (!spec.merges.empty() || has("merges")) {
    return kBpe;
  }
  if (!has("unk_token")) {
    return model.missing("type");
  }
  return has("continuing_subword_prefix") && has("max_input_chars_per_word")
             ? kWordPiece
             : kWordLevel;
}

}  // namespace

Result<std::unique_ptr<TokenModel>> make_model(TokenizerSpec& spec,
                                               bool byte_level) {
  const Json* const json = spec.json.find("model");
  const JsonPart model(json, spec.subject, "model");
  std::size_t type = 0;
  if (model.at("type").exists()) {
    HEADWISE_TRY(model.get("type", kModelTypes, type));
  } else {
    HEADWISE_ASSIGN(type, guessed_type(model, spec));
  }
  switch (type) {
    case kBpe:
      return make_bpe(model, spec, byte_level);
    case kWordPiece:
      return make_wordpiece(model, spec);
    case kWordLevel:
      return make_wordlevel(model, spec);
    default:
      return make_unigram(model, spec);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
