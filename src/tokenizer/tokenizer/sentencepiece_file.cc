#include "tokenizer/sentencepiece_file.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>

#include "interop/error_text.h"
#include "tokenizer/base64.h"
#include "tokenizer/protobuf_fields.h"
#include "tokenizer/ranked_merges.h"
#include "tokenizer/spec_parts.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Json normalizer_of(const SentencePieceModel& model) {
  Json symbols = Json::array();
  for (const ScoredPiece& piece : model.pieces) {
    if (piece.type == PieceType::user_defined) {
      symbols.push_back(piece.text);
    }
  }
  Json chars_map;
  if (!model.chars_map.empty()) {
    chars_map = encode_base64(model.chars_map);
  }
  return {{"type", "SentencePiece"},
          {"precompiled_charsmap", chars_map},
          {"add_dummy_prefix", model.add_dummy_prefix},
          {"remove_extra_whitespaces", model.remove_extra_whitespaces},
          {"escape_whitespaces", model.escape_whitespaces},
          {"treat_whitespace_as_suffix", model.whitespace_as_suffix},
          {"user_defined_symbols", symbols}};
}

Json decoder_of(const SentencePieceModel& model, std::string_view unknown) {
  Json steps = Json::array();
  steps.push_back({{"type", "SentencePiece"},
                   {"unk_token", unknown},
                   {"unk_surface", model.unk_surface},
                   {"strip_space",
                    model.add_dummy_prefix || model.remove_extra_whitespaces},
                   {"strip_spaces", model.remove_extra_whitespaces}});
  if (model.byte_fallback) {
    steps.push_back({{"type", "ByteFallback"}});
  }
  steps.push_back({{"type", "Fuse"}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

// Tokens that stand for themselves alone: control symbols are never found in a
// text. User-defined symbols are found in the normalised text, where BPE does
// not join them with anything; in Unigram they are pieces.
Json added_tokens_of(const SentencePieceModel& model) {
  Json tokens = Json::array();
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const ScoredPiece& piece = model.pieces[id];
    const bool symbol = piece.type == PieceType::user_defined &&
                        model.model != PieceModel::unigram;
    const bool control = piece.type == PieceType::control;
    if (symbol || control) {
      Json token =
          added_token(piece.text, static_cast<std::uint32_t>(id), control);
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
  std::vector<const ScoredPiece*> pieces;
  for (const ScoredPiece& piece : model.pieces) {
    if (piece.type == PieceType::normal) {
      pieces.push_back(&piece);
    }
  }
  std::ranges::stable_sort(pieces, std::ranges::greater{}, &ScoredPiece::score);
  std::vector<RankedToken> ranked;
  for (const ScoredPiece* const piece : pieces) {
    const bool same =
        !ranked.empty() && pieces[ranked.size() - 1]->score == piece->score;
    const auto rank = static_cast<std::uint32_t>(ranked.size());
    ranked.push_back({piece->text, same ? ranked.back().rank : rank});
  }
  return ranked;
}

Status set_merges(const SentencePieceModel& model, const FileSubject& subject,
                  TokenizerSpec& spec) {
  std::unordered_set<std::string_view> texts;
  for (const ScoredPiece& piece : model.pieces) {
    texts.insert(piece.text);
  }
  const auto ranked = ranked_pieces(model);
  Json ranks = Json::array();
  bool same = false;
  const auto merges = merges_of(ranked, FirstParts::characters);
  for (std::size_t n = 0; n < merges.size(); ++n) {
    const RankedMerge& merge = merges[n];
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
    same = same || (n > 0 && merges[n - 1].rank == merge.rank);
  }
  if (same) {
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
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
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
    spec.vocabulary.emplace_back(piece.text, static_cast<std::uint32_t>(id));
  }
  return model.model == PieceModel::bpe ? set_merges(model, subject, spec)
                                        : ok();
}

}  // namespace

bool is_sentencepiece(std::string_view bytes) {
  ProtobufFields model(bytes);
  ProtobufFields::Field piece;
  ProtobufFields::Field text;
  return model.next(piece) && piece.is(1, ProtobufFields::Kind::bytes) &&
         ProtobufFields(piece.bytes).next(text) &&
         text.is(1, ProtobufFields::Kind::bytes);
}

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
  const auto edge = [&](std::string_view key, std::string_view text,
                        std::optional<NamedToken>& token) -> Status {
    bool is_added = false;
    HEADWISE_TRY(settings.get(key, is_added));
    const auto found =
        std::ranges::find(model.pieces, text, &ScoredPiece::text);
    if (is_added && found != model.pieces.end()) {
      token = {std::string(text),
               static_cast<std::uint32_t>(found - model.pieces.begin())};
    }
    return ok();
  };
  std::optional<NamedToken> first;
  std::optional<NamedToken> last;
  HEADWISE_TRY(edge("add_bos_token", model.bos, first));
  HEADWISE_TRY(edge("add_eos_token", model.eos, last));
  spec.json["post_processor"] = template_processing(first, last);
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
