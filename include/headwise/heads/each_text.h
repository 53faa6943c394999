// The heads of each text of a batch, of what a call of attention showed
// (ModelHooks::see_inputs).
//
// Example:
//   hooks.see_inputs = [](HookPlace at, const HookedHeads& heads) {
//     return for_each_text(heads, [&](std::size_t row, const HookedHeads& text)
//     {
//       return look_at(at.first_row + row, text.query, text.key, text.options);
//     });
//   };
#pragma once

#include <cstddef>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/module/head_hooks.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// `see` is given the first row of each text that has tokens among those of
// `heads`, and its heads as a batch of one: views that are valid during the
// call, and the options that compare them, without offsets and in exact
// arithmetic. Of groups that are not even, it is given the key head of each
// query head. Errors: those of `see`; out_of_memory.
Status for_each_text(
    const HookedHeads& heads,
    FunctionRef<Status(std::size_t first_row, const HookedHeads& of_text)> see);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
