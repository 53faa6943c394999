#include "prune_count.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "operation/option_errors.h"

namespace headwise::cli {
namespace {

struct Amount {
  double number = 0;
  bool percent = false;
};

std::optional<Amount> amount_of(std::string_view text) {
  Amount amount;
  amount.percent = text.ends_with('%');
  text.remove_suffix(amount.percent ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount.number,
                                             std::chars_format::fixed);
  const bool whole =
      amount.percent || amount.number == std::floor(amount.number);
  if (error != std::errc() || stop != end || !std::isfinite(amount.number) ||
      !whole || amount.number < 0) {
    return {};
  }
  return amount;
}

}  // namespace

Result<std::size_t> count_to_remove(const PruneFlags& flags,
                                    std::size_t total) {
  if (flags.keep) {
    return *flags.keep <= total
               ? Result<std::size_t>(total - *flags.keep)
               : bad_option("--keep", std::to_string(*flags.keep),
                            message("at most {}, the number of heads", total));
  }
  const auto amount = amount_of(flags.remove);
  const Message expected =
      message("a number of heads from 0 to {}, or a share such as 40%", total);
  if (!amount) {
    return bad_option("--remove", flags.remove, expected);
  }
  const double heads =
      amount->percent
          ? std::floor(amount->number / 100 * static_cast<double>(total) + 0.5)
          : amount->number;
  if (heads > static_cast<double>(total) ||
      (amount->percent && amount->number > 100)) {
    return bad_option("--remove", flags.remove, expected);
  }
  return static_cast<std::size_t>(heads);
}

Result<double> largest_drop(const PruneFlags& flags) {
  const auto amount = amount_of(flags.max_drop);
  if (!amount || !amount->percent || amount->number > 100) {
    return bad_option("--max-drop", flags.max_drop,
                      "points of accuracy from 0% to 100%, such as 1%");
  }
  return amount->number / 100;
}

}  // namespace headwise::cli
