// tokenizer.json, as Hugging Face's tokenizers writes it, for a tokenizer of
// BERT's kind: the vocabulary of a WordPiece model, and how BertNormalizer
// treats a sentence.
//
// Errors, which begin with `subject`: bad_data for text that is not JSON,
// values of other types and ids that are not 0, 1, 2, ..; unsupported for a
// tokenizer of another kind:
//   model/tokenizer.json: model.type is BPE, expected WordPiece
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/models/wordpiece.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct TokenizerJson {
  WordPieceOptions wordpiece;
  std::string vocabulary;  // one token a line by id, as in vocab.txt
};

// Whether a path names such a file, not a vocab.txt.
bool is_tokenizer_json(std::string_view path);

Result<TokenizerJson> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI
