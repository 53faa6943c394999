// Words by the classes of their characters.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// BertPreTokenizer: cut at white space; punctuation characters are words.
Result<std::unique_ptr<PreTokenizer>> read_bert_words(const JsonPart& part);
// WhitespaceSplit: cut at white space.
Result<std::unique_ptr<PreTokenizer>> read_spaced_words(const JsonPart& part);
// Whitespace: runs of \w, and runs of what is neither \w nor white space.
Result<std::unique_ptr<PreTokenizer>> read_whitespace_words(
    const JsonPart& part);
// CharDelimiterSplit: cut at a character.
Result<std::unique_ptr<PreTokenizer>> read_delimited_words(
    const JsonPart& part);
// Digits: numbers are words, or each digit is.
Result<std::unique_ptr<PreTokenizer>> read_digit_words(const JsonPart& part);
// Punctuation: split at punctuation.
Result<std::unique_ptr<PreTokenizer>> read_punctuation_words(
    const JsonPart& part);
// UnicodeScripts: runs of one script.
Result<std::unique_ptr<PreTokenizer>> read_script_words(const JsonPart& part);
// FixedLength: a number of characters each.
Result<std::unique_ptr<PreTokenizer>> read_fixed_length_words(
    const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
