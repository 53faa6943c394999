// A model of any family, with its tokenizer, as a text model.
#pragma once

#include <memory>

#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// One without an unembedding has no logits. May throw std::bad_alloc.
std::unique_ptr<LanguageModel> family_text_model(SentenceEncoder model);

}  // namespace headwise::inline HEADWISE_ABI
