// Checks of an option's text, whose errors say what was given and what was
// expected.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// The error has no argument: the option is not known here. Checks for
// Option::transform() may rewrite the text.
using Check = std::function<Status(std::string&)>;

// Whole numbers, for Option::transform(): CLI11 by itself takes 010 for 8 and
// -1 for 2^64 - 1.
Check at_least_one();
Check natural_number();  // from 0 on
Check whole_number();

Check number_between(double low, double high, std::string_view expected);
Check probability();  // from 0 to 1
Check one_of(std::vector<std::string> names);
Check not_empty();

// The number that the text is, with nothing before or after its digits.
std::optional<std::size_t> number_in(std::string_view text);

// The candidate closest to `given`, or "" when none is close.
std::string closest(std::string_view given,
                    const std::vector<std::string>& candidates);
// A hint: "did you mean NAME?", or "" when there is none.
Message did_you_mean(const std::string& name);

}  // namespace headwise::cli
