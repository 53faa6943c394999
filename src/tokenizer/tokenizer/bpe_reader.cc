#include <algorithm>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/bpe_model.h"
#include "tokenizer/models.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using MergedTexts = std::vector<std::pair<std::string, std::string>>;

// The reference reads a number of 32 bits: smaller ones are 0.
Status check_dropout(const JsonPart& model) {
  double dropout = 0;
  HEADWISE_TRY(model.get("dropout", dropout));
  if (!(dropout >= 0 && dropout <= 1)) {
    return model.unexpected("dropout", "a number from 0 to 1");
  }
  return static_cast<float>(dropout) == 0
             ? ok()
             : Status(model.unexpected("dropout", "null or 0",
                                       ErrorCode::unsupported));
}

Result<BpeOptions> read_options(const JsonPart& model,
                                const TokenTable& vocabulary) {
  BpeOptions options;
  std::optional<std::string> unk_token;
  bool byte_fallback = false;
  HEADWISE_TRY(check_dropout(model));
  HEADWISE_TRY(model.get("unk_token", unk_token));
  HEADWISE_TRY(model.get("continuing_subword_prefix", options.prefix));
  HEADWISE_TRY(model.get("end_of_word_suffix", options.suffix));
  HEADWISE_TRY(model.get("fuse_unk", options.fuse_unk));
  HEADWISE_TRY(model.get("byte_fallback", byte_fallback));
  HEADWISE_TRY(model.get("ignore_merges", options.ignore_merges));
  if (unk_token) {
    options.unknown = unknown_token(model, *unk_token, vocabulary);
  }
  if (byte_fallback) {
    options.byte_tokens = ByteTokens(vocabulary);
  }
  return options;
}

// In tokens, not texts.
Result<std::vector<BpeMerge>> read_merges(const JsonPart& model,
                                          const MergedTexts& texts,
                                          const TokenTable& vocabulary,
                                          std::string_view prefix) {
  std::vector<BpeMerge> merges;
  merges.reserve(texts.size());
  std::vector<std::uint64_t> ranks;
  const JsonPart listed = model.at("merge_ranks");
  if (listed.exists() &&
      !(listed.json().get(ranks) && ranks.size() == texts.size())) {
    return model.unexpected("merge_ranks", "a rank for each merge");
  }
  for (const auto& pair : texts) {
    const auto& left = pair.first;
    const auto& right = pair.second;
    const auto fault = [&](Message expected) {
      return model.subject()
          .of_entry("model.merges[" + std::to_string(merges.size()) + "]")
          .bad_data(
              message("joins {} and {}", printable(left), printable(right)),
              std::move(expected));
    };
    // The reference takes off bytes, whatever they are.
    const std::size_t taken = prefix.size();
    if (right.size() < taken ||
        (right.size() > taken && continues_character(right[taken]))) {
      return fault(
          message("the prefix {} of the second one", printable(prefix)));
    }
    BpeMerge merge;
    const std::string merged = left + right.substr(taken);
    for (const auto& [text, id] : {std::pair(&left, &merge.left),
                                   {&right, &merge.right},
                                   {&merged, &merge.merged}}) {
      const auto found = vocabulary.find(*text);
      if (!found) {
        return fault(message("{} in model.vocab", printable(*text)));
      }
      *id = *found;
    }
    const std::size_t n = merges.size();
    merge.rank = static_cast<std::uint32_t>(ranks.empty() ? n : ranks[n]);
    merges.push_back(merge);
  }
  return merges;
}

// Whether a word's tokens depend on nothing but the merges of its characters.
bool merges_decide(const BpeOptions& options, const TokenTable& vocabulary,
                   const std::vector<BpeMerge>& merges) {
  const auto is_text = [&](ModelId id) {
    const bool unknown =
        options.unknown && *options.unknown && **options.unknown == id;
    return !unknown && !options.byte_tokens.has_id(id);
  };
  // Characters that are dropped move the tokens after them.
  const bool drops = !options.unknown && !options.byte_tokens.has_every_byte();
  return !options.byte_level && options.prefix.empty() &&
         options.suffix.empty() && !options.ignore_merges && !drops &&
         !vocabulary.repeats_ids() &&
         std::ranges::all_of(merges, [&](const BpeMerge& merge) {
           return is_text(merge.left) && is_text(merge.right);
         });
}

// Not before characters that may become one unknown token with those before.
BpeCuts find_cuts(const MergedTexts& texts, const TokenTable& vocabulary) {
  BpeCuts cuts;
  for (const char32_t boundary : {U'\u2581', U' '}) {
    std::string after;
    append_character(after, boundary);
    if (!vocabulary.find(after)) {
      continue;
    }
    cuts.before += boundary;
    for (const auto& [left, right] : texts) {
      if (!left.empty() && right.starts_with(after)) {
        cuts.joined.emplace_back(last_character(left).code, boundary);
      }
    }
  }
  std::ranges::sort(cuts.joined);
  return cuts;
}

}  // namespace

MadeModel make_bpe(const JsonPart& model, TokenizerSpec& spec,
                   bool byte_level) {
  TokenTable vocabulary(std::exchange(spec.vocabulary, {}));
  const MergedTexts texts = std::exchange(spec.merges, {});
  HEADWISE_ASSIGN(BpeOptions options, read_options(model, vocabulary));
  options.byte_level = byte_level;
  HEADWISE_ASSIGN(const std::vector<BpeMerge> merges,
                  read_merges(model, texts, vocabulary, options.prefix));
  BpeCuts cuts = merges_decide(options, vocabulary, merges)
                     ? find_cuts(texts, vocabulary)
                     : BpeCuts();
  // With other ids, or prefixes, a token may be as long as a part of it.
  const bool grow = !vocabulary.repeats_ids() && options.prefix.empty();
  BpeMerges by_rank(merges, grow);
  return {std::make_unique<BpeModel>(std::move(vocabulary), std::move(by_rank),
                                     std::move(options), std::move(cuts))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
