#include "tokenizer/sentencepiece_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "interop/error_text.h"
#include "interop/utf8.h"
#include "tokenizer/base64.h"
#include "tokenizer/ranked_merges.h"
#include "tokenizer/spec_parts.h"
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

Json normalizer_of(const SentencePieceModel& model) {
  Json symbols = Json::array();
  for (const ScoredPiece& piece : model.pieces) {
    if (piece.type == PieceType::user_defined) {
      symbols.push_back(piece.text);
    }
  }
  return {{"type", "SentencePiece"},
          {"precompiled_charsmap",
           model.chars_map.empty() ? Json() : encode_base64(model.chars_map)},
          {"add_dummy_prefix", model.add_dummy_prefix},
          {"remove_extra_whitespaces", model.remove_extra_whitespaces},
          {"escape_whitespaces", model.escape_whitespaces},
          {"treat_whitespace_as_suffix", model.whitespace_as_suffix},
          {"user_defined_symbols", symbols}};
}

Json decoder_of(const SentencePieceModel& model, std::string_view unknown) {
  Json decoder = json_of(R"({"type": "Sequence", "decoders": []})");
  decoder["decoders"].push_back(
      {{"type", "SentencePiece"},
       {"unk_token", unknown},
       {"unk_surface", model.unk_surface},
       {"strip_space",
        model.add_dummy_prefix || model.remove_extra_whitespaces},
       {"strip_spaces", model.remove_extra_whitespaces}});
  if (model.byte_fallback) {
    decoder["decoders"].push_back({{"type", "ByteFallback"}});
  }
  decoder["decoders"].push_back({{"type", "Fuse"}});
  return decoder;
}

// Tokens that stand for themselves alone: control symbols are never found in a
// text. User-defined symbols are found in the normalised text, where BPE does
// not join them with anything; in Unigram they are pieces.
Json added_tokens_of(const SentencePieceModel& model) {
  Json tokens = Json::array();
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const ScoredPiece& piece = model.pieces[id];
    const bool symbol = piece.type == PieceType::user_defined &&
                        model.model != PieceModel::unigram;
    const bool control = piece.type == PieceType::control;
    if (symbol || control) {
      Json token = added_token(piece.text, id, control);
      token["normalized"] = symbol;
      token[symbol ? "literal" : "in_text"] = symbol;
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
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
std::vector<RankedToken> ranked_pieces(const SentencePieceModel& model) {
  std::vector<ScoredPiece> pieces;
  std::ranges::copy_if(
      model.pieces, std::back_inserter(pieces),
      [](PieceType type) { return type == PieceType::normal; },
      &ScoredPiece::type);
  std::ranges::stable_sort(pieces, std::ranges::greater{}, &ScoredPiece::score);
  std::vector<RankedToken> ranked;
  for (const ScoredPiece& piece : pieces) {
    const auto n = static_cast<std::uint32_t>(ranked.size());
    const bool same = n > 0 && pieces[n - 1].score == piece.score;
    ranked.push_back({piece.text, same ? ranked.back().rank : n});
  }
  return ranked;
}

Status set_merges(const SentencePieceModel& model, const FileSubject& subject,
                  TokenizerSpec& spec) {
  const TokenIds texts = token_ids(spec);
  Json ranks = Json::array();
  const auto merges = merges_of(ranked_pieces(model), FirstParts::characters);
  for (const RankedMerge& merge : merges) {
    for (const std::string_view part : {merge.left, merge.right}) {
      if (!texts.contains(part)) {
        return subject.error(
            ErrorCode::unsupported,
            message("joins \"{}\" and \"{}\", but has no piece \"{}\"",
                    printable(merge.left), printable(merge.right),
                    printable(part)));
      }
    }
    spec.merges.emplace_back(merge.left, merge.right);
    ranks.push_back(merge.rank);
  }
  if (std::ranges::adjacent_find(merges, {}, &RankedMerge::rank) !=
      merges.end()) {
    spec.json["model"]["merge_ranks"] = std::move(ranks);
  }
  return ok();
}

Status set_bpe(const SentencePieceModel& model, std::size_t unknown,
               const FileSubject& subject, TokenizerSpec& spec) {
  spec.json["model"] = {{"type", "BPE"},
                        {"unk_token", model.pieces[unknown].text},
                        {"fuse_unk", true},
                        {"byte_fallback", model.byte_fallback}};
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const ScoredPiece& piece = model.pieces[id];
    const bool joined =
        piece.type == PieceType::unused && model.model == PieceModel::bpe;
    const bool found = piece.type == PieceType::control &&
                       first_character(piece.text).bytes == piece.text.size();
    if (joined || found) {
      return subject.of_entry(message("piece {}", id).text())
          .error(ErrorCode::unsupported,
                 joined ? "is unused, which BPE cannot have"
                        : "is a control symbol with one character");
    }
    spec.vocabulary.emplace_back(piece.text, id);
  }
  return model.model == PieceModel::bpe ? set_merges(model, subject, spec)
                                        : ok();
}

}  // namespace

Result<TokenizerSpec> sentencepiece_spec(const SentencePieceModel& model,
                                         const FileSubject& subject) {
  HEADWISE_ASSIGN(const std::size_t unknown,
                  find_unknown_piece(model.pieces, subject));
  TokenizerSpec spec{.subject = subject};
  spec.json = {{"version", "1.0"},
               {"added_tokens", added_tokens_of(model)},
               {"normalizer", normalizer_of(model)},
               {"decoder", decoder_of(model, model.pieces[unknown].text)}};
  if (model.model == PieceModel::unigram) {
    set_unigram(model, unknown, spec);
  } else {
    HEADWISE_TRY(set_bpe(model, unknown, subject, spec));
  }
  return spec;
}

Result<TokenizerSpec> parse_sentencepiece(std::string_view bytes,
                                          const FileSubject& subject,
                                          const JsonPart& settings) {
  HEADWISE_ASSIGN(const auto model, read_sentencepiece(bytes, subject));
  HEADWISE_ASSIGN(auto spec, sentencepiece_spec(model, subject));
  std::array<std::optional<NamedToken>, 2> edges;
  for (const bool last : {false, true}) {
    bool is_added = false;
    HEADWISE_TRY(
        settings.get(last ? "add_eos_token" : "add_bos_token", is_added));
    const auto text = last ? model.eos : model.bos;
    const auto found =
        std::ranges::find(model.pieces, text, &ScoredPiece::text);
    if (is_added && found != model.pieces.end()) {
      const auto id = found - model.pieces.begin();
      edges[last] = {std::string(text), static_cast<std::uint32_t>(id)};
    }
  }
  spec.json["post_processor"] = template_processing(edges[0], edges[1]);
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
