// Which layer of a file of parameters: --layer and --layout-of, as typed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "headwise/interop/params.h"

namespace headwise::cli {

struct LayerFlags {
  std::optional<std::size_t> number;
  std::string layout_of;

  LayerChoice choice() const { return {number.value_or(0), layout_of}; }
  // The option that was given first; empty: none.
  std::string given() const {
    return number ? "--layer" : layout_of.empty() ? "" : "--layout-of";
  }
};

// `of`: the options that --layer chooses from.
void add_layer_choice(CLI::App& command, LayerFlags& flags,
                      const std::string& of = "--params, a file of several");

}  // namespace headwise::cli
