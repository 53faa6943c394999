// The three parts of an encoder-decoder, as documents of a page.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "viewed_flags.h"
#include "viewed_heads.h"

namespace headwise::cli {

// Of TEXT and --decoder-text; with --part, that one alone. Errors: those of the
// options, and of TextModel::encode().
Result<ManyHeads> read_viewed_parts(const ViewedFlags& flags,
                                    std::shared_ptr<const TextModel> model,
                                    const Executor& executor);

}  // namespace headwise::cli
