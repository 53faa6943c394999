// The statistics of a head by the names that the command line has for them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/attention/statistics_options.h"
#include "headwise/base/result.h"
#include "headwise/words/language.h"

namespace headwise::cli {

// "entropy", ..., in the order of Statistic.
std::vector<std::string> statistic_names();
// The place of the statistic among them; none for another name.
std::optional<std::size_t> find_statistic(std::string_view name);

// What a picture in this language calls it.
std::string_view statistic_word(Statistic statistic, Language language);

// Whether heads of cross-attention, or others, have the number that --sort
// names. Errors: invalid_argument.
Status check_sort(const std::string& name, bool cross);

}  // namespace headwise::cli
