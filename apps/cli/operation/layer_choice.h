// Which layer of a file of parameters: --layer, --layout-of and --prefix, as
// typed; the names of layouts and numbers of layers as the command says them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headwise/interop/params.h"

namespace headwise::cli {

class Arguments;

struct LayerFlags {
  std::optional<std::size_t> number;
  std::string layout_of;
  std::optional<std::string> prefix;

  LayerChoice choice() const { return {number, layout_of, prefix}; }
};

// `of`: the options that --layer chooses from.
void add_layer_choice(const Arguments& arguments, LayerFlags& flags,
                      const std::string& of = "--params");

// Of all layouts; as help shows them, "headwise, torch-mha, ..".
std::vector<std::string> layout_names();
std::string layout_list();

// Numbers of layers in ascending order: "0-5", "0, 2-4".
std::string ranges_text(std::span<const std::size_t> numbers);

}  // namespace headwise::cli
