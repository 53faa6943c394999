#include "command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "outcome.h"

namespace headwise::cli {
namespace {

// "A and B" of "A+B".
std::string all_of(std::string_view options) {
  return fmt::format("{}", fmt::join(parts_of(options, '+'), " and "));
}

Message refused(std::string_view option, std::string_view with,
                std::string_view why) {
  if (why.empty()) {
    return message("{} cannot be used with {}", option, with);
  }
  const std::string form =
      fmt::format("{{}} cannot be used with {}: {}", with, why);
  return message(form, option);
}

void plan_folder(FilePlan& plan, const CommandLine::Typed& typed,
                 const std::string& path) {
  if (typed.takes.use == FileUse::outputs_in) {
    plan.outputs_in(typed.option, path, typed.takes.names, /*parents=*/true);
  } else if (typed.takes.use == FileUse::replaced_folder) {
    plan.replaced_folder(typed.option, path, /*parents=*/true);
  }
}

void plan_file(FilePlan& plan, const CommandLine::Typed& typed,
               const std::string& path) {
  switch (typed.takes.use) {
    case FileUse::input_if_dash:
      return plan.input(typed.option, path == "-" ? path : "");
    case FileUse::input_if_npy:
      return plan.input(typed.option, path.ends_with(".npy") ? path : "");
    case FileUse::input:
      return plan.input(typed.option, path);
    case FileUse::inputs_by_comma:
      for (const std::string_view part : parts_of(path, ',')) {
        plan.input(typed.option, std::string(part));
      }
      return;
    case FileUse::output:
      return plan.output(typed.option, path);
    case FileUse::picture:
      return plan.picture(typed.option, path, typed.takes.ending);
    default:
      return;
  }
}

}  // namespace

bool CommandLine::has(std::string_view option) const {
  const std::size_t space = option.find(' ');
  const std::string_view name = option.substr(0, space);
  return std::ranges::any_of(options_, [&](const Typed& typed) {
    return typed.given && typed.option == name &&
           (space == std::string_view::npos ||
            typed.values.front() == option.substr(space + 1));
  });
}

std::string_view CommandLine::first_of(std::string_view options) const {
  for (const std::string_view part : parts_of(options, '|')) {
    const auto together = parts_of(part, '+');
    if (std::ranges::all_of(together, [&](auto each) { return has(each); })) {
      return together.front();
    }
  }
  return {};
}

// The first option, in the order of the help, that is none of "A|B".
std::string_view CommandLine::other_than(std::string_view options) const {
  const auto known = parts_of(options, '|');
  for (const Typed& typed : options_) {
    if (typed.given && std::ranges::find(known, typed.option) == known.end()) {
      return typed.option;
    }
  }
  return {};
}

bool CommandLine::breaks(const OptionRule& rule) const {
  if (!rule.option.empty() && first_of(rule.option).empty()) {
    return false;
  }
  const bool has_others = rule.others.empty() || !first_of(rule.others).empty();
  switch (rule.kind) {
    case OptionRule::needs:
    case OptionRule::always:
      return !has_others;
    case OptionRule::only:
      return !other_than(rule.others).empty();
    default:
      return has_others;
  }
}

// What a rule says in words is of the form, which a catalogue translates whole.
Message CommandLine::error_of(const OptionRule& rule) const {
  const std::string_view option = first_of(rule.option);
  const auto& [_, kind, others, words] = rule;
  switch (kind) {
    case OptionRule::needs: {
      if (!words.empty()) {
        const std::string form = "{} needs " + std::string(words);
        return message(form, option);
      }
      return message("{} needs {}", option, others);
    }
    case OptionRule::excludes:
      return refused(option, all_of(others), words);
    case OptionRule::apart:
      return message("{} and {} cannot be used together", option, others);
    case OptionRule::only:
      return refused(other_than(others), option, words);
    default:
      return words.find("{}") != std::string_view::npos ? message(words, option)
                                                        : Message(words);
  }
}

Status CommandLine::check(std::span<const OptionRule> rules) const {
  for (const OptionRule& rule : rules) {
    if (breaks(rule)) {
      return usage_error(error_of(rule));
    }
  }
  return ok();
}

FilePlan CommandLine::files() const {
  FilePlan plan;
  for (const auto plan_one : {plan_file, plan_folder}) {
    for (const Typed& typed : options_) {
      for (const std::string& value : typed.values) {
        plan_one(plan, typed, value);
      }
    }
  }
  for (const Typed& typed : options_) {
    if (typed.given && typed.takes.use == FileUse::printed) {
      plan.printed(typed.option);
    }
  }
  return plan;
}

}  // namespace headwise::cli
