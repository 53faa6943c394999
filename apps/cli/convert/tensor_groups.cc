#include "tensor_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "shell/checks.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kMarks = "./";

struct NumberedName {
  std::string before;
  std::size_t number;
  std::string after;
};

// The number that `text` is, written as numbers are: 07 is a word.
std::optional<std::size_t> number_of(std::string_view text) {
  const auto number = number_in(text);
  return number && std::to_string(*number) == text ? number : std::nullopt;
}

std::optional<NumberedName> split(const std::string& name) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end =
        std::min(name.find_first_of(kMarks, begin), name.size());
    if (const auto number =
            number_of(std::string_view(name).substr(begin, end - begin))) {
      return NumberedName{name.substr(0, begin), *number, name.substr(end)};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// What the tensors of one row have in common.
using RowKey =
    std::tuple<std::string, std::string, DType, std::vector<std::size_t>>;

RowKey key_of(const NumberedName& name, const ParamEntry& entry) {
  return {name.before, name.after, entry.dtype, entry.shape};
}

std::map<RowKey, std::vector<std::size_t>> numbers_of_rows(
    const ParamEntries& entries) {
  std::map<RowKey, std::vector<std::size_t>> numbers;
  for (const auto& [name, entry] : entries) {
    if (const auto parts = split(name)) {
      numbers[key_of(*parts, entry)].push_back(parts->number);
    }
  }
  for (auto& [key, of_row] : numbers) {
    std::ranges::sort(of_row);  // 10 stood before 2
  }
  return numbers;
}

}  // namespace

std::vector<TensorGroup> group_tensors(const ParamEntries& entries) {
  const auto numbers = numbers_of_rows(entries);
  std::vector<TensorGroup> groups;
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::size_t> at;
  std::set<RowKey> told;
  for (const auto& [name, entry] : entries) {
    TensorRow row{name, entry.dtype, entry.shape, entry.bytes};
    const auto parts = split(name);
    const std::vector<std::size_t>* const of_row =
        parts ? &numbers.at(key_of(*parts, entry)) : nullptr;
    if (of_row == nullptr || of_row->size() == 1) {
      if (groups.empty() || !groups.back().numbers.empty()) {
        groups.emplace_back();
      }
      groups.back().rows.push_back(std::move(row));
      continue;
    }
    // Each row once: of the number whose name comes first.
    if (!told.insert(key_of(*parts, entry)).second) {
      continue;
    }
    const auto [place, is_new] =
        at.emplace(std::pair(parts->before, *of_row), groups.size());
    if (is_new) {
      groups.push_back({parts->before, *of_row, {}});
    }
    row.name = parts->after;
    groups[place->second].rows.push_back(std::move(row));
  }
  return groups;
}

}  // namespace headwise::cli
