// Korean particles, whose form depends on the last sound before them.
#pragma once

#include <string>
#include <string_view>

namespace headwise::cli {

// `word` and the particle that fits it. `forms` has the one after a consonant
// first: "은/는", "이/가", "을/를", "으로/로", "이어야/여야".
//
// Digits count as they are read in Korean, Latin letters by the usual
// transcription of English words; closing quotes and brackets are passed over.
//
// Example:
//   with_particle("--model", "을/를")  // "--model을"
//   with_particle("12", "으로/로")     // "12로"
std::string with_particle(std::string_view word, std::string_view forms);

}  // namespace headwise::cli
