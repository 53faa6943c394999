// What a file of SentencePiece says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/version.h"

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

// `bytes` must outlive the model. Errors: bad_data; unsupported.
Result<SentencePieceModel> read_sentencepiece(std::string_view bytes,
                                              const FileSubject& subject);
// Whether the pieces can be those of a tokenizer: texts that differ, one of
// them unknown. Errors: bad_data.
Result<std::size_t> find_unknown_piece(const std::vector<ScoredPiece>& pieces,
                                       const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
