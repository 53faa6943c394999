#include "option_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "outcome.h"

namespace headwise::cli {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// ---- What an option takes. ----

Takes flag() { return {}; }

Takes printed() { return {.use = FileUse::printed}; }

Takes text(std::string type) {
  return {.type = std::move(type), .check = not_empty()};
}

Takes texts(std::string type) {
  Takes takes = text(std::move(type));
  takes.each_time = true;
  return takes;
}

Takes any_text(std::string type) { return {.type = std::move(type)}; }

Takes choice(std::vector<std::string> names, std::string type) {
  if (type.empty()) {
    type = fmt::format("{}", fmt::join(names, "|"));
  }
  return {.type = std::move(type), .check = one_of(std::move(names))};
}

Takes number(std::string type) {
  return {.type = std::move(type), .check = natural_number(), .rewrites = true};
}

Takes count(std::string type) {
  return {.type = std::move(type), .check = at_least_one(), .rewrites = true};
}

Takes whole_number_of(std::string type) {
  return {.type = std::move(type), .check = whole_number(), .rewrites = true};
}

Takes real(std::string type, Check check) {
  return {.type = std::move(type), .check = std::move(check)};
}

Takes file(FileUse use, std::string type) {
  return {.type = std::move(type), .check = not_empty(), .use = use};
}

Takes input_file(std::string type) {
  return file(FileUse::input, std::move(type));
}

Takes npy() { return input_file("F.npy"); }

Takes out_npy() { return output_file("F.npy"); }

Takes output_file(std::string type) {
  return file(FileUse::output, std::move(type));
}

Takes picture(std::string type, std::string ending) {
  Takes takes = file(FileUse::picture, std::move(type));
  takes.ending = std::move(ending);
  return takes;
}

Takes outputs_in(std::string type, std::vector<std::string> names) {
  Takes takes = file(FileUse::outputs_in, std::move(type));
  takes.names = std::move(names);
  return takes;
}

// ---- What else there is to say. ----

RowDetails RowDetails::sets(std::string_view arguments) const {
  RowDetails more = *this;
  more.argument = arguments;
  return more;
}

RowDetails RowDetails::needs(std::string_view option) const {
  RowDetails more = *this;
  more.needed = option;
  return more;
}

RowDetails advanced() { return {.is_advanced = true}; }

RowDetails required() { return {.is_required = true}; }

RowDetails sets(std::string_view arguments) {
  return RowDetails().sets(arguments);
}

// ---- What follows from rows. ----

bool OptionRow::given() const {
  return std::visit(
      [](const auto* value) {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return *value;
        } else if constexpr (requires { value->has_value(); }) {
          return value->has_value();
        } else if constexpr (requires { value->empty(); }) {
          return !value->empty();
        } else {
          return true;
        }
      },
      place);
}

std::string first_given(std::span<const OptionRow> rows) {
  const auto found = std::ranges::find_if(rows, &OptionRow::given);
  return found == rows.end() ? "" : found->name;
}

Status check_needs(std::span<const OptionRow> rows) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(rows, [&](const OptionRow& row) {
      return row.name == name && row.given();
    });
  };
  for (const OptionRow& row : rows) {
    const auto needed = parts_of(row.more.needed, '|');
    if (!needed.empty() && row.given() && std::ranges::none_of(needed, has)) {
      return usage_error(message("{} needs {}", row.name, needed.front()));
    }
  }
  return ok();
}

std::vector<ArgumentOption> arguments_of(std::span<const OptionRow> rows) {
  std::vector<ArgumentOption> arguments;
  for (const OptionRow& row : rows) {
    for (const std::string_view argument : parts_of(row.more.argument, '|')) {
      arguments.push_back({argument, row.name});
    }
  }
  return arguments;
}

const ArgumentOption* option_of(std::string_view argument,
                                std::span<const ArgumentOption> rows) {
  const ArgumentOption* found = nullptr;
  for (const ArgumentOption& row : rows) {
    if (begins_path(row.argument, argument) &&
        (found == nullptr || row.argument.size() > found->argument.size())) {
      found = &row;
    }
  }
  return found;
}

bool begins_path(std::string_view part, std::string_view path) {
  return path.starts_with(part) &&
         (path.size() == part.size() || path[part.size()] == '.' ||
          path[part.size()] == '[');
}

}  // namespace headwise::cli
