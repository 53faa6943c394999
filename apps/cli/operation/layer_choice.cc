#include "layer_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell/args.h"

namespace headwise::cli {

void add_layer_choice(const Arguments& arguments, LayerFlags& flags,
                      const std::string& of) {
  arguments.add(
      {{"--layer", &flags.number, number(), "layer of " + of + " (default 0)"},
       {"--layout-of", &flags.layout_of, choice(layout_names(), "NAME"),
        "layout of --params: " + layout_list() + " (default: detected)",
        advanced()},
       {"--prefix", &flags.prefix, any_text("TEXT"),
        "prefix of the names in --params, or its beginning (default: detected)",
        advanced()}});
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const Layout& layout : layouts()) {
    names.emplace_back(layout.name);
  }
  return names;
}

std::string layout_list() {
  return fmt::format("{}", fmt::join(layout_names(), ", "));
}

std::string ranges_text(std::span<const std::size_t> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() &&
           numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (last > first) {
      text += fmt::format("-{}", numbers[last]);
    }
    first = last + 1;
  }
  return text;
}

}  // namespace headwise::cli
