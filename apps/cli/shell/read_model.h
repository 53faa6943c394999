// A model folder that a command was given as --model.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/models/sentence_encoder.h"

namespace headwise::cli {

// Errors: those of SentenceEncoder::read(); for a folder that is not there the
// message says how to get one.
Result<SentenceEncoder> read_model(const std::string& folder,
                                   BertUse use = BertUse::inference);

}  // namespace headwise::cli
