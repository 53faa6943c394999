// What a model of SentencePiece becomes. The spec has keys that no
// tokenizer.json has:
//   normalizer and decoder: the type SentencePiece
//   added_tokens: in_text (true), false for tokens that are never found in a
//     text; literal (false), true for a content that is not normalised
//   model of BPE: merge_ranks, a rank for each merge, only where several have
//     the same: then the leftmost is first
//   model of Unigram: unk_score, the score of an unknown character; float_sums
//     (false), true if the score of each path is rounded to 32 bits. A piece
//     with a score of minus infinity is never found in a text.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "interop/error_text.h"
#include "interop/utf8.h"
#include "tokenizer/base64.h"
#include "tokenizer/tokenizer_file.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Whether the pieces can be those of a tokenizer: texts that differ, one of
// them for unknown characters, which is returned.
Result<std::size_t> find_unknown_piece(const std::vector<ScoredPiece>& pieces,
                                       const FileSubject& subject) {
  std::optional<std::size_t> unknown;
  std::unordered_set<std::string_view> texts(pieces.size());
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const auto& [text, score, type] = pieces[id];
    Message wrong = token_fault(text, texts);
    if (!std::isfinite(score)) {
      wrong = "has a score that is not finite";
    } else if (find_invalid_utf8(text)) {
      wrong = "is not UTF-8 text";
    } else if (type == PieceType::unknown &&
               std::exchange(unknown, id).has_value()) {
      wrong = "is another one for unknown characters";
    }
    if (!wrong.empty()) {
      return subject.of_entry(message("piece {}", id).text()).bad_data(wrong);
    }
  }
  return unknown ? Result(*unknown)
                 : subject.bad_data("has no piece for unknown characters");
}

// Control symbols are never found in a text. User-defined symbols are found in
// the normalised text, where BPE does not join them with anything; in Unigram
// they are pieces.
void set_symbols(const SentencePieceModel& model, Json& json) {
  Json& symbols = json["normalizer"]["user_defined_symbols"] = Json::array();
  Json& added = json["added_tokens"] = Json::array();
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, score, type] = model.pieces[id];
    const bool control = type == PieceType::control;
    const bool symbol = type == PieceType::user_defined;
    if (symbol) {
      symbols.push_back(text);
    }
    if (control || (symbol && model.model != PieceModel::unigram)) {
      Json token = added_token(text, id, control);
      token["normalized"] = symbol;
      token[symbol ? "literal" : "in_text"] = symbol;
      added.push_back(std::move(token));
    }
  }
}

// All but symbols and the model.
Json json_of_model(const SentencePieceModel& model, std::string_view unknown) {
  const Json chars_map =
      model.chars_map.empty() ? Json() : encode_base64(model.chars_map);
  std::vector<Json> decoders = {
      {{"type", "SentencePiece"},
       {"unk_token", unknown},
       {"unk_surface", model.unk_surface},
       {"strip_space",
        model.add_dummy_prefix || model.remove_extra_whitespaces},
       {"strip_spaces", model.remove_extra_whitespaces}},
      {{"type", "ByteFallback"}},
      {{"type", "Fuse"}}};
  if (!model.byte_fallback) {
    decoders.erase(decoders.begin() + 1);
  }
  return {{"version", "1.0"},
          {"normalizer",
           {{"type", "SentencePiece"},
            {"precompiled_charsmap", chars_map},
            {"add_dummy_prefix", model.add_dummy_prefix},
            {"remove_extra_whitespaces", model.remove_extra_whitespaces},
            {"escape_whitespaces", model.escape_whitespaces},
            {"treat_whitespace_as_suffix", model.whitespace_as_suffix}}},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}}};
}

void set_unigram(const SentencePieceModel& model, std::size_t unknown,
                 TokenizerSpec& spec) {
  constexpr float kUnknownPenalty = 10;
  constexpr double kUserDefined = 0.1;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  float least = std::numeric_limits<float>::max();
  for (const auto& [text, score, type] : model.pieces) {
    least = type == PieceType::normal ? std::min(least, score) : least;
    // User-defined symbols are better than other pieces, long ones more so.
    spec.pieces.emplace_back(
        text, type == PieceType::normal ? score
              : type == PieceType::user_defined
                  ? kUserDefined * static_cast<double>(text.size() - 1)
                  : -kNever);
  }
  spec.json["model"] = {{"type", "Unigram"},
                        {"unk_id", unknown},
                        {"byte_fallback", model.byte_fallback},
                        {"unk_score", least - kUnknownPenalty},
                        {"float_sums", true}};
}

// Pieces that others may be joined to, the best score first.
std::vector<NamedToken> ranked_pieces(std::vector<ScoredPiece> pieces) {
  std::erase_if(pieces, [](const ScoredPiece& piece) {
    return piece.type != PieceType::normal;
  });
  std::ranges::stable_sort(pieces, std::ranges::greater{}, &ScoredPiece::score);
  std::vector<NamedToken> ranked;
  for (std::uint32_t n = 0; n < pieces.size(); ++n) {
    const bool same = n > 0 && pieces[n - 1].score == pieces[n].score;
    ranked.push_back(
        {std::string(pieces[n].text), same ? ranked.back().id : n});
  }
  return ranked;
}

Status set_merges(const SentencePieceModel& model, TokenizerSpec& spec) {
  const TokenIds texts = token_ids(spec);
  std::vector<std::uint32_t> ranks;
  const auto pieces = ranked_pieces(model.pieces);
  for (const auto& [left, right, rank] :
       merges_of(pieces, FirstParts::characters)) {
    if (!texts.contains(left) || !texts.contains(right)) {
      return spec.subject.error(
          ErrorCode::unsupported,
          message("joins \"{}\" and \"{}\", but has no piece \"{}\"",
                  printable(left), printable(right),
                  printable(texts.contains(left) ? right : left)));
    }
    spec.merges.emplace_back(left, right);
    ranks.push_back(rank);
  }
  if (std::ranges::adjacent_find(ranks) != ranks.end()) {
    spec.json["model"]["merge_ranks"] = ranks;
  }
  return ok();
}

Status set_bpe(const SentencePieceModel& model, std::size_t unknown,
               TokenizerSpec& spec) {
  const bool joins = model.model == PieceModel::bpe;
  spec.json["model"] = {{"type", "BPE"},
                        {"unk_token", model.pieces[unknown].text},
                        {"fuse_unk", true},
                        {"byte_fallback", model.byte_fallback}};
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const auto& [text, score, type] = model.pieces[id];
    const bool unused = type == PieceType::unused && joins;
    if (unused || (type == PieceType::control &&
                   first_character(text).bytes == text.size())) {
      return spec.subject.of_entry(message("piece {}", id).text())
          .error(ErrorCode::unsupported,
                 unused ? "is unused, which BPE cannot have"
                        : "is a control symbol with one character");
    }
    spec.vocabulary.emplace_back(text, id);
  }
  return joins ? set_merges(model, spec) : ok();
}

}  // namespace

Result<TokenizerSpec> sentencepiece_spec(const SentencePieceModel& model,
                                         const FileSubject& subject) {
  HEADWISE_ASSIGN(const std::size_t unknown,
                  find_unknown_piece(model.pieces, subject));
  TokenizerSpec spec{.subject = subject,
                     .json = json_of_model(model, model.pieces[unknown].text)};
  set_symbols(model, spec.json);
  if (model.model == PieceModel::unigram) {
    set_unigram(model, unknown, spec);
  } else {
    HEADWISE_TRY(set_bpe(model, unknown, spec));
  }
  return spec;
}

Result<TokenizerSpec> parse_sentencepiece(std::string_view bytes,
                                          const FileSubject& subject,
                                          const JsonPart& settings) {
  HEADWISE_ASSIGN(const auto model, read_sentencepiece(bytes, subject));
  HEADWISE_ASSIGN(auto spec, sentencepiece_spec(model, subject));
  bool adds_bos = false;
  bool adds_eos = false;
  HEADWISE_TRY(settings.get("add_bos_token", adds_bos));
  HEADWISE_TRY(settings.get("add_eos_token", adds_eos));
  const auto edge = [&pieces = model.pieces](
                        std::string_view text,
                        bool is_added) -> std::optional<NamedToken> {
    const auto found = std::ranges::find(pieces, text, &ScoredPiece::text);
    if (!is_added || found == pieces.end()) {
      return {};
    }
    const auto id = static_cast<std::uint32_t>(found - pieces.begin());
    return NamedToken{std::string(text), id};
  };
  spec.json["post_processor"] =
      template_processing(edge(model.bos, adds_bos), edge(model.eos, adds_eos));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
