#include "layer_choice.h"

#include <vector>

#include "args.h"

namespace headwise::cli {

void add_layer_choice(CLI::App& command, LayerFlags& flags,
                      const std::string& of) {
  std::vector<std::string> names;
  std::string shown;
  for (const Layout& layout : layouts()) {
    names.emplace_back(layout.name);
    shown += (shown.empty() ? "" : ", ") + names.back();
  }
  command
      .add_option("--layer", flags.number,
                  "which layer of " + of + " (default 0)")
      ->type_name("N")
      ->transform(natural_number())
      ->group("Layer");
  command
      .add_option("--layout-of", flags.layout_of,
                  "whose names and shapes --params has: " + shown +
                      " (default: the one that fits)")
      ->type_name("NAME")
      ->check(one_of(names))
      ->group("Layer");
}

}  // namespace headwise::cli
