// Unigram: the pieces of a word whose scores have the largest sum.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "interop/error_text.h"
#include "tokenizer/literal_search.h"
#include "tokenizer/token_model.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr int kLargestPower = 250;  // of scores: others are read exactly
constexpr std::uint32_t kNoPath = UnigramNode{}.begin;

// A score as the reference reads it from a JSON text: it rounds the digits, and
// divides by a power of ten. The last bit decides between equal paths.
double reread(double score) {
  if (!std::isfinite(score)) {
    return score;
  }
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.begin(), text.end(), std::abs(score),
                                     std::chars_format::scientific);
  char* const e = std::find(text.begin(), written.ptr, 'e');
  std::string digits(text.begin(), e);
  std::erase(digits, '.');
  int power = std::atoi(e + 1);
  if (std::abs(power) > kLargestPower) {
    return score;
  }
  power -= static_cast<int>(digits.size()) - 1;
  const auto size = static_cast<double>(std::stoull(digits));
  const double scale =
      std::strtod(("1e" + std::to_string(std::abs(power))).c_str(), nullptr);
  return std::copysign(power < 0 ? size / scale : size * scale, score);
}

class UnigramModel final : public TokenModel {
 public:
  explicit UnigramModel(TokenTable vocabulary)
      : TokenModel(std::move(vocabulary)), trie_(vocabulary_.all()) {}

  Status read(const JsonPart& model,
              const std::vector<std::pair<std::string, double>>& pieces) {
    bool byte_fallback = false;
    HEADWISE_TRY(model.get("byte_fallback", byte_fallback));
    byte_tokens_ = byte_fallback ? ByteTokens(vocabulary_) : ByteTokens();
    if (model.at("unk_id").exists()) {
      std::size_t id = 0;
      HEADWISE_TRY(model.get("unk_id", id));
      if (id >= pieces.size()) {
        return model.unexpected(
            "unk_id", message("the number of one of {} pieces", pieces.size()));
      }
      unknown_ = static_cast<ModelId>(id);
    }
    HEADWISE_TRY(model.get("float_sums", in_floats_));
    for (const auto& [text, score] : pieces) {
      scores_.push_back(in_floats_ ? score : reread(score));
      unknown_score_ = std::min(unknown_score_, scores_.back());
    }
    unknown_score_ -= 10;  // the penalty of the reference
    HEADWISE_TRY(model.get("unk_score", unknown_score_));
    subject_ = model.subject().of_entry("model");
    return ok();
  }

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override {
    const auto& nodes = memory.nodes;
    HEADWISE_TRY(find_best_paths(word, memory.nodes));
    const auto before = static_cast<std::ptrdiff_t>(tokens.size());
    auto end = static_cast<std::uint32_t>(word.size());
    while (end > 0) {
      std::uint32_t begin = nodes[end].begin;
      if (nodes[end].piece != unknown_) {
        tokens.push_back({nodes[end].piece, begin, end});
      } else {
        while (begin > 0 && nodes[begin].piece == unknown_) {
          begin = nodes[begin].begin;
        }
        add_unknown(word, begin, end, tokens);
      }
      end = begin;
    }
    std::reverse(tokens.begin() + before, tokens.end());
    memory.shrink();
    return ok();
  }

 private:
  Status find_best_paths(std::string_view word,
                         std::vector<UnigramNode>& nodes) const {
    nodes.assign(word.size() + 1, {});
    // Of equal paths the first one found stays: the one whose last piece is
    // longest.
    const auto offer = [&](std::size_t begin, std::size_t end, double score,
                           ModelId piece) {
      UnigramNode& node = nodes[end];
      score += nodes[begin].score;
      score = in_floats_ ? static_cast<float>(score) : score;
      if (node.begin == kNoPath || score > node.score) {
        node = {score, piece, static_cast<std::uint32_t>(begin)};
        return true;
      }
      return false;
    };
    for (std::size_t begin = 0; begin < word.size();) {
      const std::size_t next =
          begin + first_character(word.substr(begin)).bytes;
      bool has_character = false;
      std::uint32_t node = PieceTrie::root();
      for (std::size_t end = begin; end < word.size();) {
        node = trie_.child(node, word[end]);
        ++end;
        if (node == PieceTrie::kNone) {
          break;
        }
        // Pieces with a score of minus infinity are never found.
        if (const ModelId id = trie_.value(node);
            id != PieceTrie::kNone && !std::isinf(scores_[id])) {
          offer(begin, end, scores_[id], id);
          has_character = has_character || end == next;
        }
      }
      if (!has_character &&
          offer(begin, next, unknown_score_, unknown_.value_or(0)) &&
          !unknown_) {
        return subject_.bad_data(
            message("has no unk_id for the unknown character {}",
                    printable(word.substr(begin, next - begin))));
      }
      begin = next;
    }
    return ok();
  }

  // Adds tokens in the order of the way back.
  // Unknown characters next to each other may be a piece, which had a lower
  // score than they have.
  void add_unknown(std::string_view word, std::uint32_t begin,
                   std::uint32_t end, std::vector<ModelToken>& tokens) const {
    const std::string_view text = word.substr(begin, end - begin);
    std::optional<ModelId> known = find(text);
    if (known && std::isinf(scores_[*known])) {
      known.reset();
    }
    if (known || !byte_tokens_.has_all(text)) {
      tokens.push_back({known.value_or(*unknown_), begin, end});
      return;
    }
    for (std::size_t n = text.size(); n > 0; --n) {
      tokens.push_back({*byte_tokens_[text[n - 1]], begin, end});
    }
  }

  PieceTrie trie_;
  std::vector<double> scores_;
  std::optional<ModelId> unknown_;
  double unknown_score_ = std::numeric_limits<double>::infinity();
  bool in_floats_ = false;  // the score of a path is rounded to 32 bits
  ByteTokens byte_tokens_;
  FileSubject subject_;
};

}  // namespace

MadeModel make_unigram(const JsonPart& model, TokenizerSpec& spec) {
  const auto pieces = std::exchange(spec.pieces, {});
  std::vector<TokenTable::Entry> entries;
  entries.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    entries.emplace_back(text, static_cast<ModelId>(entries.size()));
  }
  auto made =
      std::make_unique<UnigramModel>(TokenTable(entries, /*keep_ids=*/true));
  HEADWISE_TRY(made->read(model, pieces));
  return MadeModel(std::move(made));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
