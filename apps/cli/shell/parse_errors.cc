#include "parse_errors.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "checks.h"

namespace headwise::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// "--embed-dim: 1 required N missing"
std::string mismatch_text(const CLI::App& command, const std::string& what) {
  const std::string name = what.substr(0, what.find_first_of(": "));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (what.ends_with("missing") && option != nullptr) {
    return fmt::format("{} has no value, expected {}", name,
                       option->get_type_name());
  }
  if (what.find("flag override") != std::string::npos) {
    return (name.starts_with('-') ? name : "--" + name) +
           " has a value, expected none";
  }
  return name + " was given more than once, expected once";
}

std::string extras_text(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  const std::string first = extras.empty() ? "" : extras.front();
  return first.starts_with('-')
             ? fmt::format("unknown option {}", first)
             : fmt::format("unexpected argument \"{}\"", first);
}

// The first argument behind a --lang; null where there is none.
const std::string* command_word(const std::vector<std::string>& arguments) {
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    if (arguments[n] == "--lang") {
      ++n;
    } else if (!arguments[n].starts_with("--lang=")) {
      return &arguments[n];
    }
  }
  return nullptr;
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

const std::string* unknown_command(const CLI::App& app,
                                   const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = command_names(app);
  const std::string* const word = command_word(arguments);
  return !known.empty() && word != nullptr && !word->starts_with('-') &&
                 std::ranges::find(known, *word) == known.end()
             ? word
             : nullptr;
}

std::string unknown_command_text(const CLI::App& app, const std::string& name) {
  return fmt::format("unknown command {}{}", name.empty() ? "\"\"" : name,
                     did_you_mean(closest(name, command_names(app))));
}

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& arguments) {
  const CLI::App& command = chosen_command(app);
  const std::vector<std::string> known = option_names(command);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && name.size() > 2 &&
        std::ranges::find(known, name) == known.end()) {
      return fmt::format("unknown option {}{}", name,
                         did_you_mean(closest(name, known)));
    }
  }
  const std::string what = error.what();
  if (is<CLI::ArgumentMismatch>(error)) {
    return mismatch_text(command, what);
  }
  if (is<CLI::ExtrasError>(error)) {
    return extras_text(command);
  }
  // A check's: "--num-heads: is 0, expected ..."
  const std::size_t colon = what.find(": is ");
  return is<CLI::ValidationError>(error) && colon != std::string::npos
             ? what.substr(0, colon) + what.substr(colon + 1)
             : what;
}

}  // namespace headwise::cli
