#include "importance_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "shell/fold_table.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kNamed = 8;  // heads of each end

std::string names_of(std::vector<HeadId>::const_iterator begin,
                     std::vector<HeadId>::const_iterator end) {
  std::string text;
  for (; begin != end; ++begin) {
    text += fmt::format(" {}.{}", begin->layer, begin->head);
  }
  return text;
}

std::string score_text(double score) { return fmt::format("{:.3g}", score); }

}  // namespace

std::string table_of(const ImportanceFile& file) {
  constexpr std::size_t kWidth = 9;
  const auto& scores = file.importance.scores;
  std::vector<std::vector<std::string>> lines = {{say("layer")}};
  const std::size_t layer_width = columns_of(lines[0][0]);
  for (std::size_t h = 0; h < file.num_heads; ++h) {
    lines[0].push_back(fmt::format("{:>{}}", fmt::format("h{}", h), kWidth));
  }
  for (std::size_t n = 0; n < scores.size(); ++n) {
    auto& cells = lines.emplace_back();
    cells.push_back(fmt::format("{:>{}}", n, layer_width));
    std::size_t at = 0;
    for (std::size_t h = 0; h < file.num_heads; ++h) {
      const bool there = at < file.heads[n].size() && file.heads[n][at] == h;
      cells.push_back(fmt::format(
          "{:>{}}", there ? score_text(scores[n][at]) : "-", kWidth));
      at += there ? 1 : 0;
    }
  }
  std::string text = folded_table(lines);
  const auto& order = file.importance.order;
  const auto named =
      static_cast<std::ptrdiff_t>(std::min(kNamed, order.size()));
  text += say("least important (removed first):{}\n",
              names_of(order.begin(), order.begin() + named));
  text += say("most important (removed last):{}\n",
              names_of(order.end() - named, order.end()));
  return text;
}

}  // namespace headwise::cli
