#include "read_axes.h"

#include <fmt/format.h>

#include "shell/say.h"

namespace headwise::cli {

std::string read_axes(std::string_view name,
                      const std::vector<std::size_t>& shape, bool heads_first,
                      bool ragged) {
  std::vector<std::string_view> axes = {"H", ragged ? "rows" : "L", "D"};
  if (!heads_first) {
    std::swap(axes[0], axes[1]);
  }
  if (!ragged) {
    axes.insert(axes.begin(), "B");
  }
  axes.insert(axes.begin(), "N");
  std::string text = fmt::format("{}:", name);
  for (std::size_t n = 0; n < shape.size(); ++n) {
    text +=
        fmt::format(" {}={}", axes[axes.size() - shape.size() + n], shape[n]);
  }
  return text + say(", layout {}\n", heads_first ? "bhld" : "blhd");
}

}  // namespace headwise::cli
