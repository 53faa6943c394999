// The page of a prompt and what was generated after it.
#pragma once

#include "generate_flags.h"
#include "generate_job.h"
#include "shell/outcome.h"

namespace headwise::cli {

// Of an encoder-decoder in three parts: its encoder, its decoder, and what the
// decoder looks at in the encoder.
Outcome write_generated_page(const GenerateFlags& flags, GenerateJob job,
                             const GeneratedText& text);

}  // namespace headwise::cli
