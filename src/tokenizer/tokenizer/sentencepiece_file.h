// SentencePiece's model: a protobuf with the pieces and how texts are
// normalised.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

enum class PieceType : std::uint8_t {
  normal = 1,
  unknown,
  control,
  user_defined,
  unused,
  byte
};

struct ScoredPiece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::normal;
};

enum class PieceModel : std::uint8_t { unigram = 1, bpe, word, character };

// The defaults are those of files that do not say. Texts are parts of the file.
struct SentencePieceModel {
  std::vector<ScoredPiece> pieces;  // the id is the index
  PieceModel model = PieceModel::unigram;
  bool whitespace_as_suffix = false;
  bool byte_fallback = false;
  std::string_view unk_surface = " \u2047 ";  // what unknown pieces decode to
  std::string_view bos = "<s>";
  std::string_view eos = "</s>";
  std::string_view chars_map;  // empty: texts stay as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Whether a file begins as such a model: with a message that begins with a
// text.
bool is_sentencepiece(std::string_view bytes);
// `bytes` must outlive the model. Errors: bad_data; unsupported.
Result<SentencePieceModel> read_sentencepiece(std::string_view bytes,
                                              const FileSubject& subject);

// The spec has keys that no tokenizer.json has:
//   normalizer and decoder: the type SentencePiece
//     (sentencepiece_normalizer.h, sentencepiece_decoder.cc)
//   added_tokens: in_text (true), false for tokens that are never found in a
//     text; literal (false), true for a content that is not normalised
//   model of BPE: merge_ranks, a rank for each merge, only where several have
//     the same: then the leftmost is first
//   model of Unigram: unk_score, the score of an unknown character; float_sums
//     (false), true if the score of each path is rounded to 32 bits. A piece
//     with a score of minus infinity is never found in a text.
// Errors: bad_data; unsupported, for BPE with unused pieces, too.
Result<TokenizerSpec> sentencepiece_spec(const SentencePieceModel& model,
                                         const FileSubject& subject);
// `settings` of tokenizer_config.json say which tokens are added to texts.
Result<TokenizerSpec> parse_sentencepiece(std::string_view bytes,
                                          const FileSubject& subject,
                                          const JsonPart& settings);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
