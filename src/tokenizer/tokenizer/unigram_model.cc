#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/models.h"
#include "tokenizer/piece_trie.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using ScoredPieces = std::vector<std::pair<std::string, double>>;

constexpr double kUnknownPenalty = 10;
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
  const char* const e = std::find(text.begin(), written.ptr, 'e');
  int power = std::atoi(e + 1);
  if (std::abs(power) > kLargestPower) {
    return score;
  }
  std::uint64_t digits = 0;
  for (const char* at = text.begin(); at != e; ++at) {
    if (*at != '.') {
      digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
      power -= at > text.begin() + 1 ? 1 : 0;
    }
  }
  const std::string ten = "1e" + std::to_string(std::abs(power));
  double scale = 0;
  std::from_chars(ten.data(), ten.data() + ten.size(), scale);
  const auto size = static_cast<double>(digits);
  return std::copysign(power < 0 ? size / scale : size * scale, score);
}

// The id of a piece is its place.
TokenTable piece_table(const ScoredPieces& pieces) {
  std::vector<TokenTable::Entry> entries;
  entries.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    entries.emplace_back(text, static_cast<ModelId>(entries.size()));
  }
  return TokenTable(entries);
}

// What files of SentencePiece say besides.
struct UnigramSums {
  std::optional<double> unknown_score{};  // none: 10 below the worst piece
  bool in_floats = false;  // the score of a path is rounded to 32 bits
};

class UnigramModel final : public TableModel {
 public:
  UnigramModel(const ScoredPieces& pieces, std::optional<ModelId> unknown,
               bool byte_fallback, UnigramSums sums, FileSubject subject);

  Status encode(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& tokens) const override;

  std::size_t size() const override { return scores_.size(); }
  std::optional<std::string_view> token(ModelId id) const override;

 private:
  Status find_best_paths(std::string_view word,
                         std::vector<UnigramNode>& nodes) const;
  // Both add tokens in the order of the way back.
  void add_best_path(std::string_view word,
                     const std::vector<UnigramNode>& nodes,
                     std::vector<ModelToken>& tokens) const;
  void add_unknown(std::string_view word, std::uint32_t begin,
                   std::uint32_t end, std::vector<ModelToken>& tokens) const;

  std::vector<double> scores_;
  // Ids whose text a later piece repeats, and the id of that piece.
  std::vector<std::pair<ModelId, ModelId>> repeated_;
  PieceTrie trie_;
  std::optional<ModelId> unknown_;
  double unknown_score_ = std::numeric_limits<double>::infinity();
  bool in_floats_ = false;
  ByteTokens byte_tokens_;
  FileSubject subject_;
};

UnigramModel::UnigramModel(const ScoredPieces& pieces,
                           std::optional<ModelId> unknown, bool byte_fallback,
                           UnigramSums sums, FileSubject subject)
    : TableModel(piece_table(pieces)),
      trie_(vocabulary_.all()),
      unknown_(unknown),
      in_floats_(sums.in_floats),
      byte_tokens_(byte_fallback ? ByteTokens(vocabulary_) : ByteTokens()),
      subject_(std::move(subject)) {
  scores_.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    const auto id = static_cast<ModelId>(scores_.size());
    scores_.push_back(in_floats_ ? score : reread(score));
    unknown_score_ = std::min(unknown_score_, scores_.back());
    if (const auto last = find(text); last != id) {
      repeated_.emplace_back(id, *last);
    }
  }
  unknown_score_ =
      sums.unknown_score.value_or(unknown_score_ - kUnknownPenalty);
}

std::optional<std::string_view> UnigramModel::token(ModelId id) const {
  const auto repeated = std::ranges::lower_bound(
      repeated_, id, {}, &std::pair<ModelId, ModelId>::first);
  return vocabulary_.token(repeated != repeated_.end() && repeated->first == id
                               ? repeated->second
                               : id);
}

Status UnigramModel::encode(std::string_view word, ModelMemory& memory,
                            std::vector<ModelToken>& tokens) const {
  HEADWISE_TRY(find_best_paths(word, memory.nodes));
  const auto before = static_cast<std::ptrdiff_t>(tokens.size());
  add_best_path(word, memory.nodes, tokens);
  std::reverse(tokens.begin() + before, tokens.end());
  memory.shrink();
  return ok();
}

Status UnigramModel::find_best_paths(std::string_view word,
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
    const std::size_t next = begin + first_character(word.substr(begin)).bytes;
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
        offer(begin, next, unknown_score_, unknown_.value_or(0)) && !unknown_) {
      return subject_.bad_data(
          message("has no unk_id for the unknown character {}",
                  printable(word.substr(begin, next - begin))));
    }
    begin = next;
  }
  return ok();
}

void UnigramModel::add_best_path(std::string_view word,
                                 const std::vector<UnigramNode>& nodes,
                                 std::vector<ModelToken>& tokens) const {
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
}

// Unknown characters next to each other may be a piece, which had a lower score
// than they have.
void UnigramModel::add_unknown(std::string_view word, std::uint32_t begin,
                               std::uint32_t end,
                               std::vector<ModelToken>& tokens) const {
  const std::string_view text = word.substr(begin, end - begin);
  std::optional<ModelId> known = vocabulary_.find(text);
  if (known && std::isinf(scores_[*known])) {
    known.reset();
  }
  if (known || !byte_tokens_.has_all(text)) {
    tokens.push_back({known.value_or(*unknown_), begin, end});
    return;
  }
  for (std::size_t n = text.size(); n > 0; --n) {
    tokens.push_back({byte_tokens_[text[n - 1]], begin, end});
  }
}

}  // namespace

MadeModel make_unigram(const JsonPart& model, TokenizerSpec& spec) {
  bool byte_fallback = false;
  HEADWISE_TRY(model.get("byte_fallback", byte_fallback));
  std::optional<ModelId> unknown;
  if (model.at("unk_id").exists()) {
    std::size_t id = 0;
    HEADWISE_TRY(model.get("unk_id", id));
    if (id >= spec.pieces.size()) {
      return model.unexpected(
          "unk_id",
          message("the number of one of {} pieces", spec.pieces.size()));
    }
    unknown = static_cast<ModelId>(id);
  }
  UnigramSums sums;
  HEADWISE_TRY(model.get("float_sums", sums.in_floats));
  if (model.at("unk_score").exists()) {
    HEADWISE_TRY(model.get("unk_score", sums.unknown_score.emplace()));
  }
  return {std::make_unique<UnigramModel>(std::exchange(spec.pieces, {}),
                                         unknown, byte_fallback, sums,
                                         model.subject().of_entry("model"))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
