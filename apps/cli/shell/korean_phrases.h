// The Korean of what errors say (phrase.h), sorted by the English: what is
// given, what was expected, hints, and clauses.
//
// What is given becomes a sentence about {s}, "{s} 값이 {0}입니다". What was
// expected is a noun, of which error_text.cc makes a sentence, or a sentence of
// its own, which ends in a full stop. The rest is as it is said.
//
// tests/apps/korean_messages_test.py names what has no Korean.
#pragma once

#include <span>

#include "translation.h"

namespace headwise::cli {

// Values, sizes and tensors.
std::span<const Translation> korean_value_phrases();
// Files of tensors, JSON and text.
std::span<const Translation> korean_file_phrases();
// Models, training and pruning.
std::span<const Translation> korean_model_phrases();
// Models of ONNX.
std::span<const Translation> korean_onnx_phrases();
// Dialects and their masks.
std::span<const Translation> korean_dialect_phrases();
// The options of the command.
std::span<const Translation> korean_option_phrases();
// The ranks of a group.
std::span<const Translation> korean_rank_phrases();

// All of these.
std::span<const std::span<const Translation>> korean_phrases();

}  // namespace headwise::cli
