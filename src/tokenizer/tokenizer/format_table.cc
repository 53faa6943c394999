#include "patterns/known_patterns.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// White space at the end of a text is one word, line breaks included.
constexpr std::string_view kCl100kPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?![\s\S])|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";

constexpr auto kGgufSplits = std::to_array<GgufSplit>({
    {"default",
     {{R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Expression, R"(\p{N}+)", kThreeDigits}}},
    {"gpt-2", {{kGpt2Expression}}},
    {"roberta-bpe", {{kGpt2Expression}}},
    {"phi-2", {{kGpt2Expression}}},
    {"mpt", {{kGpt2Expression}}},
    {"olmo", {{kGpt2Expression}}},
    {"llama-bpe", {{kLlama3Pattern}}, true, true},
    {"dbrx", {{kLlama3Pattern}}},
    {"smaug-bpe", {{kLlama3Pattern}}},
    {"qwen2", {{kQwen2Pattern}, true}},
    {"stablelm2", {{kQwen2Pattern}, true}},
    {"qwen35", {{kQwen35Pattern}, true}},
    {"deepseek-coder",
     {{"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
       "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", kDigit}}},
    {"deepseek-v3",
     {{R"(\p{N}{1,3})", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
       R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}}},
    {"falcon", {{R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Expression, kThreeDigits}}},
    {"starcoder", {{kDigit, kGpt2Expression}}},
    {"refact", {{kDigit, kGpt2Expression}}},
    {"command-r", {{kDigit, kGpt2Expression}}},
    {"smollm", {{kDigit, kGpt2Expression}}},
    {"codeshell", {{kDigit, kGpt2Expression}}},
    {"tekken", {{kTekkenPattern}}, true, true},
    {"gpt-4o", {{kO200kPattern}}, true},
    {"llama4", {{kO200kPattern}}, true, true},
});

constexpr auto kGpt2Special = std::to_array<SpecialRow>({
    {"<|endoftext|>"},
});
constexpr auto kCl100kSpecial = std::to_array<SpecialRow>({
    {"<|endoftext|>"},
    {"<|fim_prefix|>"},
    {"<|fim_middle|>"},
    {"<|fim_suffix|>"},
    {"<|endofprompt|>", 0, 0, 15},
});
constexpr auto kO200kSpecial = std::to_array<SpecialRow>({
    {"<|endoftext|>"},
    {"<|endofprompt|>", 0, 0, 18},
});
constexpr auto kLlama3Special = std::to_array<SpecialRow>({
    {"<|begin_of_text|>"},
    {"<|end_of_text|>"},
    {"<|reserved_special_token_0|>"},
    {"<|reserved_special_token_1|>"},
    {"<|finetune_right_pad_id|>"},
    {"<|step_id|>"},
    {"<|start_header_id|>"},
    {"<|end_header_id|>"},
    {"<|eom_id|>"},
    {"<|eot_id|>"},
    {"<|python_tag|>"},
    {"<|image|>"},
    {"<|reserved_special_token_", 2, 244},
});
constexpr auto kLlama4Special = std::to_array<SpecialRow>({
    {"<|begin_of_text|>"},
    {"<|end_of_text|>"},
    {"<|fim_prefix|>"},
    {"<|fim_middle|>"},
    {"<|fim_suffix|>"},
    {"<|header_start|>"},
    {"<|header_end|>"},
    {"<|eom|>"},
    {"<|eot|>"},
    {"<|step|>"},
    {"<|text_post_train_reserved_special_token_", 0, 6},
    {"<|python_start|>"},
    {"<|python_end|>"},
    {"<|finetune_right_pad|>"},
    {"<|text_post_train_reserved_special_token_", 8, 61},
    {"<|image_start|>"},
    {"<|image_end|>"},
    {"<|vision_reserved_special_token_", 0, 2},
    {"<|tile_x_separator|>"},
    {"<|tile_y_separator|>"},
    {"<|vision_reserved_special_token_", 2, 4},
    {"<|image|>"},
    {"<|vision_reserved_special_token_", 6, 1},
    {"<|patch|>"},
    {"<|vision_reserved_special_token_", 7, 1041},
    {"<|reasoning_reserved_special_token_", 0, 8},
    {"<|reasoning_thinking_start|>"},
    {"<|reasoning_thinking_end|>"},
    {"<|reserved_special_token_", 0, 904},
});
constexpr auto kQwenSpecial = std::to_array<SpecialRow>({
    {"<|endoftext|>"},
    {"<|im_start|>"},
    {"<|im_end|>"},
    {"<|extra_", 0, 205},
});
constexpr auto kQwen35Special = std::to_array<SpecialRow>({
    {"<|endoftext|>"},
    {"<|im_start|>"},
    {"<|im_end|>"},
    {"<|object_ref_start|>"},
    {"<|object_ref_end|>"},
    {"<|box_start|>"},
    {"<|box_end|>"},
    {"<|quad_start|>"},
    {"<|quad_end|>"},
    {"<|vision_start|>"},
    {"<|vision_end|>"},
    {"<|vision_pad|>"},
    {"<|image_pad|>"},
    {"<|video_pad|>"},
    {"<tool_call>"},
    {"</tool_call>"},
    {"<|fim_prefix|>"},
    {"<|fim_middle|>"},
    {"<|fim_suffix|>"},
    {"<|fim_pad|>"},
    {"<|repo_name|>"},
    {"<|file_sep|>"},
    {"<tool_response>"},
    {"</tool_response>"},
    {"<think>"},
    {"</think>"},
    {"<|audio_start|>"},
    {"<|audio_end|>"},
    {"<tts_pad>"},
    {"<tts_text_bos>"},
    {"<tts_text_eod>"},
    {"<tts_text_bos_single>"},
    {"<|audio_pad|>"},
});

constexpr auto kTiktokenFamilies = std::to_array<TiktokenFamily>({
    {"r50k_base", 50256, " gazed", {{kGpt2Expression}}, 50256, kGpt2Special},
    {"p50k_base",
     50280,
     "                         ",
     {{kGpt2Expression}},
     50256,
     kGpt2Special},
    {"cl100k_base",
     100256,
     " Conveyor",
     {{kCl100kPattern}},
     100257,
     kCl100kSpecial},
    {"o200k_base", 199998, " cocos", {{kO200kPattern}}, 199999, kO200kSpecial},
    {"Llama 3",
     128000,
     "\u9526",
     {{kLlama3Pattern}},
     128000,
     kLlama3Special,
     true},
    {"Llama 4", 200000, "(ge", {{kO200kPattern}}, 200000, kLlama4Special, true},
    {"Qwen", 151643, "\u2F57", {{kQwen2Pattern}, true}, 151643, kQwenSpecial},
    {"Qwen 3.5",
     248044,
     "\u3042\u308A\u307E\u3059\u304B",
     {{kQwen35Pattern}, true},
     248044,
     kQwen35Special},
});

constexpr std::string_view kGpt2Json = R"J({"version": "1.0",
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE"}})J";
constexpr std::string_view kRobertaJson = R"J({"version": "1.0",
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
 "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 0], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE"}})J";
constexpr std::string_view kClipJson = R"J({"version": "1.0",
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}, "behavior": "Removed", "invert": true}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
 "post_processor": {"type": "RobertaProcessing", "sep": ["<|endoftext|>", 0], "cls": ["<|startoftext|>", 0], "trim_offsets": false, "add_prefix_space": false},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE", "end_of_word_suffix": "</w>", "unk_token": "<|endoftext|>"}})J";
// The expression is that of GGUF's qwen2.
constexpr std::string_view kQwen2Json = R"J({"version": "1.0",
 "normalizer": {"type": "NFC"},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE"}})J";

constexpr std::string_view kBertJson = R"J({"version": "1.0",
 "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
 "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 0], "cls": ["[CLS]", 0]},
 "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}})J";

constexpr auto kBpeClasses = std::to_array<TokenizerClass>({
    {"CLIPTokenizer", kClipJson, {"<|startoftext|>", "a</w>"}},
    {"RobertaTokenizer", kRobertaJson, {"<s>", "</s>", "<mask>"}},
    {"GPT2Tokenizer", kGpt2Json},
    {"BartTokenizer", kRobertaJson},
    {"LongformerTokenizer", kRobertaJson},
    {"LEDTokenizer", kRobertaJson},
    {"Qwen2Tokenizer", kQwen2Json},
});

constexpr auto kBertClasses = std::to_array<TokenizerClass>({
    {"BertTokenizer", kBertJson},
    {"DistilBertTokenizer", kBertJson},
    {"ElectraTokenizer", kBertJson},
});

}  // namespace

const std::array<std::string_view, 9> kTokenizerKeys = {
    "version",       "truncation",     "padding", "added_tokens", "normalizer",
    "pre_tokenizer", "post_processor", "decoder", "model"};

// tokenizer.json says everything; tekken.json says more than a tokenizer.model
// next to it; that is exact where the vocabularies after it need settings.
const std::array<std::string_view, 9> kTokenizerFiles = {
    "tokenizer.json",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "qwen.tiktoken",
    "vocab.json",
    "encoder.json",
    "vocab.txt"};

const std::string_view kByteLevelJson = R"J({"version": "1.0",
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
 "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
 "model": {"type": "BPE"}})J";

const std::string_view kTekkenSpecialTokens =
    R"J([{"rank": 0, "token_str": "<unk>"},
 {"rank": 1, "token_str": "<s>"},
 {"rank": 2, "token_str": "</s>"},
 {"rank": 3, "token_str": "[INST]"},
 {"rank": 4, "token_str": "[/INST]"},
 {"rank": 5, "token_str": "[AVAILABLE_TOOLS]"},
 {"rank": 6, "token_str": "[/AVAILABLE_TOOLS]"},
 {"rank": 7, "token_str": "[TOOL_RESULTS]"},
 {"rank": 8, "token_str": "[/TOOL_RESULTS]"},
 {"rank": 9, "token_str": "[TOOL_CALLS]"},
 {"rank": 10, "token_str": "[IMG]"},
 {"rank": 11, "token_str": "<pad>"},
 {"rank": 12, "token_str": "[IMG_BREAK]"},
 {"rank": 13, "token_str": "[IMG_END]"},
 {"rank": 14, "token_str": "[PREFIX]"},
 {"rank": 15, "token_str": "[MIDDLE]"},
 {"rank": 16, "token_str": "[SUFFIX]"},
 {"rank": 17, "token_str": "[SYSTEM_PROMPT]"},
 {"rank": 18, "token_str": "[/SYSTEM_PROMPT]"},
 {"rank": 19, "token_str": "[TOOL_CONTENT]"}])J";

std::span<const GgufSplit> gguf_splits() { return kGgufSplits; }
std::span<const TiktokenFamily> tiktoken_families() {
  return kTiktokenFamilies;
}
std::span<const TokenizerClass> bpe_classes() { return kBpeClasses; }
std::span<const TokenizerClass> bert_classes() { return kBertClasses; }

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
