// What `explain --model` prints of a sentence: the title with its tokens, and
// tables with the tokens as rows and columns.
#pragma once

#include <string>

#include "explain_job.h"
#include "headwise/words/language.h"

namespace headwise::cli {

// "8 heads".
std::string heads_text(std::size_t count, Language language);

// The lines before the steps. The job is one of a sentence.
std::string sentence_title(const ExplainedJob& job, Language language);

// Whether a step has a number for each pair of tokens in each head.
bool is_token_table(const TracedStep& step);

// Every head's table, or with `corners` that of the first head, its corners
// where it is long:
//
//   attn_weights[0, 0, :, :] =
//             [CLS]   heads   [SEP]
//     [CLS]  0.5000  0.2500  0.2500
//   ...
std::string token_table(const ExplainedSentence& sentence,
                        const TracedStep& step, bool corners,
                        const std::string& indent);

}  // namespace headwise::cli
