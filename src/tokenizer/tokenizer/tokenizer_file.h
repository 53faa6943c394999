// Reads the files that a tokenizer may be in.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "tokenizer/json_part.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// `path`: a file, or a folder with one. What is in the file says its kind.
// Errors: io_error; bad_data, for a folder with none, too; unsupported.
Result<TokenizerSpec> read_tokenizer_spec(const std::string& path);

// For each kind. Errors of all: bad_data, about `subject`.

// Checks the vocabulary and the merges. The other parts are checked by those
// who read them. `or_others`: the text may also be a tekken.json, or a
// vocab.json with its merges and settings in the same folder.
Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject,
                                           bool or_others = false);

// Adds to the tokens of a vocab.json what files next to it say. Errors:
// io_error; unsupported for a class of tokenizers in the settings.
Status complete_vocabulary(TokenizerSpec& spec);
// BERT's vocab.txt, a token a line, with settings in the same folder. Errors:
// the same.
Result<TokenizerSpec> parse_vocab_txt(std::string_view text,
                                      const FileSubject& subject);

// Mistral's tekken.json: tiktoken's ranks with an expression and special
// tokens, whose ids come before those of the ranks. As in files of
// SentencePiece, control tokens are never found in a text.
Result<TokenizerSpec> tekken_spec(Json json, const FileSubject& subject);
// Whether the first line is one of tiktoken's ranks: a token in base64, a space
// and its rank. The file says neither how texts are split nor which special
// tokens there are, so only known vocabularies can be read.
bool is_tiktoken(std::string_view bytes);
// Errors: unsupported for a vocabulary that is not known.
Result<TokenizerSpec> parse_tiktoken(std::string_view bytes,
                                     const FileSubject& subject);

// Whether a file begins as a model of SentencePiece: with a message that begins
// with a text.
bool is_sentencepiece(std::string_view bytes);
// `settings` of tokenizer_config.json say which tokens are added to texts.
// Errors: unsupported, for BPE with unused pieces, too.
Result<TokenizerSpec> parse_sentencepiece(std::string_view bytes,
                                          const FileSubject& subject,
                                          const JsonPart& settings);

// tokenizer.huggingface.json of a GGUF file, or what the keys of tokenizer.ggml
// say. Errors: unsupported for a model or a pre-tokenizer that is not known.
Result<TokenizerSpec> parse_gguf_tokenizer(std::string_view bytes,
                                           const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
