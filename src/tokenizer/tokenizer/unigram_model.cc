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

using Pieces = std::vector<std::pair<std::string, double>>;

constexpr double kUnknownPenalty = 10;
constexpr std::uint32_t kNoPath = UnigramNode{}.begin;

// A score as the reference reads it from a JSON text: it rounds the digits, and
// divides by a power of ten. The last bit decides between equal paths.
double reread(double score) {
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.begin(), text.end(), std::abs(score),
                                     std::chars_format::scientific);
  const char* const e = std::find(text.begin(), written.ptr, 'e');
  if (e == written.ptr) {
    return score;  // not finite
  }
  std::uint64_t digits = 0;
  int power = std::atoi(e + 1);
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
TokenTable table_of(const Pieces& pieces) {
  std::vector<TokenTable::Entry> entries;
  entries.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    entries.emplace_back(text, static_cast<ModelId>(entries.size()));
  }
  return TokenTable(entries);
}

class UnigramModel final : public TableModel {
 public:
  UnigramModel(const Pieces& pieces, std::optional<ModelId> unknown,
               bool byte_fallback, FileSubject subject);

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
  ByteTokens byte_tokens_;
  FileSubject subject_;
};

UnigramModel::UnigramModel(const Pieces& pieces, std::optional<ModelId> unknown,
                           bool byte_fallback, FileSubject subject)
    : TableModel(table_of(pieces)),
      trie_(vocabulary_.all()),
      unknown_(unknown),
      byte_tokens_(byte_fallback ? ByteTokens(vocabulary_) : ByteTokens()),
      subject_(std::move(subject)) {
  scores_.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    const auto id = static_cast<ModelId>(scores_.size());
    scores_.push_back(reread(score));
    unknown_score_ = std::min(unknown_score_, scores_.back());
    if (const auto last = find(text); last != id) {
      repeated_.emplace_back(id, *last);
    }
  }
  unknown_score_ -= kUnknownPenalty;
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
      if (const ModelId id = trie_.value(node); id != PieceTrie::kNone) {
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
  const std::optional<ModelId> known = vocabulary_.find(text);
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
  return {std::make_unique<UnigramModel>(std::exchange(spec.pieces, {}),
                                         unknown, byte_fallback,
                                         model.subject().of_entry("model"))};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
