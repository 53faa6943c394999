// What `headwise generate` prints.
#pragma once

#include <string>
#include <vector>

#include "generate_job.h"
#include "headwise/json/json.h"

namespace headwise::cli {

// Where the query of each generated token looked with each head of --heads: the
// tokens with the two largest weights. Empty without heads.
std::string looked_at_text(const GenerateJob& job, const GeneratedText& text,
                           std::size_t prompt);
// "log-probability of a token: -1.2345 with 64 tokens kept, -1.2001 with all".
// Empty without --keep-tokens.
std::string loss_text(const GenerateJob& job, const Variant& variant,
                      std::size_t prompt);
// The variants' texts, one after another, or without a tokenizer their ids; for
// several prompts each with its number.
std::string texts_text(const GenerateJob& job,
                       const std::vector<Variant>& variants);

Json generated_json(const GenerateJob& job,
                    const std::vector<Variant>& variants);

}  // namespace headwise::cli
