#include <algorithm>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/bpe_model.h"
#include "tokenizer/models.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

// The reference reads a number of 32 bits: smaller ones are 0.
Status check_dropout(const JsonPart& model) {
  double dropout = 0;
  HEADWISE_TRY(model.get("dropout", dropout));
  if (!(dropout >= 0 && dropout <= 1)) {
    return model.unexpected("dropout", "0 to 1");
  }
  return static_cast<float>(dropout) == 0
             ? ok()
             : Status(model.unexpected("dropout", "null or 0",
                                       ErrorCode::unsupported));
}

Result<BpeOptions> read_options(const JsonPart& model, bool byte_level) {
  BpeOptions options;
  options.byte_level = byte_level;
  HEADWISE_TRY(check_dropout(model));
  HEADWISE_TRY(model.get("unk_token", options.unk_token));
  HEADWISE_TRY(model.get("continuing_subword_prefix", options.prefix));
  HEADWISE_TRY(model.get("end_of_word_suffix", options.suffix));
  HEADWISE_TRY(model.get("fuse_unk", options.fuse_unk));
  HEADWISE_TRY(model.get("byte_fallback", options.byte_fallback));
  HEADWISE_TRY(model.get("ignore_merges", options.ignore_merges));
  return options;
}

// Merges as ids.
Result<std::vector<BpeMerge>> read_merges(const JsonPart& model,
                                          const Merges& merges,
                                          const TokenTable& vocabulary,
                                          std::string_view prefix) {
  std::vector<BpeMerge> read;
  read.reserve(merges.size());
  std::string merged;
  for (const auto& [left, right] : merges) {
    const auto fault = [&](Message given, Message expected) {
      const auto name = "model.merges[" + std::to_string(read.size()) + "]";
      return model.subject().of_entry(name).bad_data(std::move(given),
                                                     std::move(expected));
    };
    if (right.size() < prefix.size() ||
        (right.size() > prefix.size() &&
         continues_character(right[prefix.size()]))) {
      return fault(message("joins {} to {}", printable(left), printable(right)),
                   message("a second token that begins with the "
                           "continuing_subword_prefix {}",
                           printable(prefix)));
    }
    merged = left;
    merged += std::string_view(right).substr(prefix.size());
    const auto known = [&](std::string_view text) {
      return vocabulary.find(text);
    };
    const auto a = known(left), b = known(right), ab = known(merged);
    if (!a || !b || !ab) {
      return fault(message("joins {} to {}", printable(left), printable(right)),
                   message("{} in model.vocab", printable(!a   ? left
                                                          : !b ? right
                                                               : merged)));
    }
    read.push_back({*a, *b, *ab});
  }
  return read;
}

// Whether each token is as long as its two parts, counted without prefixes.
bool tokens_grow(const std::vector<BpeMerge>& merges,
                 const TokenTable& vocabulary, std::string_view prefix) {
  const auto length = [&](ModelId id) {
    const std::string_view text = *vocabulary.token(id);
    return text.size() - (text.starts_with(prefix) ? prefix.size() : 0);
  };
  return std::ranges::all_of(merges, [&](const BpeMerge& merge) {
    const std::size_t left = length(merge.left);
    const std::size_t right = length(merge.right);
    return left > 0 && right > 0 && length(merge.merged) == left + right;
  });
}

// Whether all that merges join, and nothing else, tells the tokens of a word:
// then it may be cut where they join nothing.
bool merges_decide(const BpeOptions& options, const BpeParts& parts,
                   const std::vector<BpeMerge>& merges) {
  const bool spelled =
      !options.byte_level && options.prefix.empty() && options.suffix.empty();
  // Characters that are dropped move the tokens after them.
  const bool drops = !options.unk_token && !parts.byte_tokens.has_every_byte();
  const auto is_text = [&](ModelId id) {
    return id != parts.unknown && !parts.byte_tokens.has_id(id);
  };
  return spelled && !drops && !options.ignore_merges &&
         !parts.vocabulary.repeats_ids() &&
         std::ranges::all_of(merges, [&](const BpeMerge& merge) {
           return is_text(merge.left) && is_text(merge.right);
         });
}

}  // namespace

MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec,
                   bool byte_level) {
  HEADWISE_ASSIGN(BpeOptions options, read_options(model, byte_level));
  BpeParts parts;
  parts.vocabulary = TokenTable(std::exchange(spec.vocabulary, {}));
  const Merges texts = std::exchange(spec.merges, {});
  HEADWISE_ASSIGN(const std::vector<BpeMerge> merges,
                  read_merges(model, texts, parts.vocabulary, options.prefix));
  const bool grow = tokens_grow(merges, parts.vocabulary, options.prefix);
  parts.merges = BpeMerges(merges, grow);
  if (options.byte_fallback) {
    parts.byte_tokens = ByteTokens(parts.vocabulary);
  }
  if (options.unk_token) {
    parts.unknown = parts.vocabulary.find(*options.unk_token);
    if (!parts.unknown) {
      parts.no_unknown =
          model.unexpected("unk_token", "a token of model.vocab");
    }
  }
  if (grow && merges_decide(options, parts, merges)) {
    parts.cuts = BpeCuts(texts, parts.vocabulary);
  }
  return {std::make_unique<BpeModel>(std::move(options), std::move(parts))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
