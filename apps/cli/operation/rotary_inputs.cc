#include "rotary_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comma_parts.h"
#include "option_errors.h"
#include "read_tensor.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

constexpr const char* kScaling = "--rotary-scaling";

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() &&
                 std::isfinite(number)
             ? std::optional(number)
             : std::nullopt;
}

std::optional<std::size_t> length_of(double number) {
  constexpr double kMost = 1LL << 53;
  return number >= 1 && number <= kMost && number == std::floor(number)
             ? std::optional(static_cast<std::size_t>(number))
             : std::nullopt;
}

using Numbers = std::vector<double>;

std::optional<RotaryScaling> yarn(const Numbers& numbers) {
  const auto original = length_of(numbers[1]);
  if (!original) {
    return std::nullopt;
  }
  YarnScaling rule{.factor = numbers[0], .original_length = *original};
  const auto given = [&](std::size_t n) { return n < numbers.size(); };
  rule.beta_fast = given(2) ? numbers[2] : rule.beta_fast;
  rule.beta_slow = given(3) ? numbers[3] : rule.beta_slow;
  rule.truncate = given(4) ? numbers[4] != 0 : rule.truncate;
  if (given(5)) {
    rule.attention_factor = numbers[5];
  }
  return rule;
}

std::optional<RotaryScaling> llama3(const Numbers& numbers) {
  const auto original = length_of(numbers[3]);
  return original ? std::optional<RotaryScaling>(
                        Llama3Scaling{.factor = numbers[0],
                                      .low_freq_factor = numbers[1],
                                      .high_freq_factor = numbers[2],
                                      .original_length = *original})
                  : std::nullopt;
}

struct Rule {
  std::string_view name;
  std::size_t least;  // numbers
  std::size_t most;
  std::optional<RotaryScaling> (*of)(const Numbers& numbers);
};
constexpr std::array<Rule, 4> kRules = {
    {{"linear", 1, 1,
      [](const Numbers& n) {
        return std::optional<RotaryScaling>(LinearScaling{n[0]});
      }},
     {"ntk", 1, 1,
      [](const Numbers& n) {
        return std::optional<RotaryScaling>(NtkScaling{n[0]});
      }},
     {"yarn", 2, 6, yarn},
     {"llama3", 4, 4, llama3}}};

// "yarn:4,8192". true and false are 1 and 0.
std::optional<RotaryScaling> parse_scaling(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  Numbers numbers;
  for (std::string_view part : comma_parts(text.substr(colon + 1))) {
    part = part == "true" ? "1" : part == "false" ? "0" : part;
    const auto number = number_of(part);
    if (!number) {
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  for (const Rule& rule : kRules) {
    if (rule.name == text.substr(0, colon) && numbers.size() >= rule.least &&
        numbers.size() <= rule.most) {
      return rule.of(numbers);
    }
  }
  return std::nullopt;
}

// What --rotary-tables leaves no room for.
Status check_tables_alone(const RotaryFlags& flags) {
  for (const auto& [given, option] :
       {std::pair(flags.base.has_value(), "--rotary-base"),
        {flags.dim.has_value(), "--rotary-dim"},
        {!flags.scaling.empty(), kScaling}}) {
    if (!flags.tables.empty() && given) {
      return usage_error(message(
          "{} cannot be used with --rotary-tables, which gives the angles",
          option));
    }
  }
  return ok();
}

}  // namespace

Result<RotaryInputs> RotaryInputs::read(const RotaryFlags& flags,
                                        bool batched) {
  HEADWISE_TRY(check_tables_alone(flags));
  RotaryInputs inputs;
  inputs.flags_ = flags;
  auto options = rotation_options(inputs.flags_);
  std::ranges::move(position_options(inputs.flags_),
                    std::back_inserter(options));
  HEADWISE_TRY(check_needs(options));
  if (!flags.scaling.empty()) {
    const auto scaling = parse_scaling(flags.scaling);
    if (!scaling) {
      return bad_option(kScaling, flags.scaling,
                        "linear:F, ntk:F, yarn:F,ORIGINAL or "
                        "llama3:F,LOW,HIGH,ORIGINAL with numbers");
    }
    inputs.scaling_ = *scaling;
  }
  if (!flags.tables.empty()) {
    const auto files = comma_parts(flags.tables);
    if (files.size() != 2) {
      return bad_option("--rotary-tables", flags.tables,
                        "two files, COS.npy,SIN.npy");
    }
    constexpr std::string_view kAxes = "(positions, rotary_dim / 2)";
    HEADWISE_TRY(read_tensor({"--rotary-tables", std::string(files[0])}, kAxes,
                             true, inputs.cos_));
    HEADWISE_TRY(read_tensor({"--rotary-tables", std::string(files[1])}, kAxes,
                             true, inputs.sin_));
  }
  HEADWISE_TRY(read_tensor({"--query-positions", flags.query_positions},
                           "(B, Lq)", batched, inputs.query_positions_));
  HEADWISE_TRY(read_tensor({"--key-positions", flags.key_positions}, "(B, Lkv)",
                           batched, inputs.key_positions_));
  return inputs;
}

Result<Rotary> RotaryInputs::from_tables() const {
  return Rotary::from_tables(*cos_, *sin_,
                             flags_.layout == "interleaved"
                                 ? RotaryLayout::interleaved
                                 : RotaryLayout::halves);
}

Result<std::optional<Rotary>> RotaryInputs::rotary(std::size_t head_dim) const {
  if (!given()) {
    return std::optional<Rotary>();
  }
  auto made =
      cos_ ? from_tables()
           : Rotary::create({.rotary_dim = flags_.dim.value_or(head_dim),
                             .base = flags_.base.value_or(RotaryConfig{}.base),
                             .layout = flags_.layout == "interleaved"
                                           ? RotaryLayout::interleaved
                                           : RotaryLayout::halves,
                             .scaling = scaling_});
  if (!made) {
    return in_rotary_words(made.error());
  }
  if (made->rotary_dim() > head_dim) {
    return option_error(
        cos_ ? "--rotary-tables" : "--rotary-dim",
        message("rotates {} features", made->rotary_dim()),
        message("at most the head size, {}", head_dim),
        cos_ ? ErrorCode::shape_mismatch : ErrorCode::invalid_argument);
  }
  return std::optional<Rotary>(*std::move(made));
}

HeadPositions RotaryInputs::positions() const {
  HeadPositions positions;
  if (query_positions_) {
    positions.query_positions = *query_positions_;
  }
  if (key_positions_) {
    positions.key_positions = *key_positions_;
  }
  return positions;
}

Error in_rotary_words(const Error& error) {
  static const std::vector<ArgumentOption> kArguments = [] {
    RotaryFlags none;
    std::vector<ArgumentOption> arguments = {{"query_start", "--query-start"}};
    for (const auto options : {rotation_options, position_options}) {
      std::ranges::move(arguments_of(options(none)),
                        std::back_inserter(arguments));
    }
    return arguments;
  }();
  ErrorDetails details = error.details();
  const ArgumentOption* const row = option_of(details.argument, kArguments);
  if (row == nullptr) {
    return error;
  }
  details.operation.clear();
  details.argument.replace(0, row->argument.size(), row->option);
  return {error.code(), std::move(details)};
}

}  // namespace headwise::cli
