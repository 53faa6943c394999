#include "parse_errors.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "checks.h"
#include "outcome.h"

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

class Refused : public CLI::ParseError {
 public:
  explicit Refused(headwise::Error error)
      : ParseError(error.message(), CLI::ExitCodes::ValidationError),
        error_(std::move(error)) {}
  const headwise::Error& error() const { return error_; }

 private:
  headwise::Error error_;
};

// "--embed-dim: 1 required N missing"
Error mismatch_error(const CLI::App& command, const std::string& what) {
  const std::string name = what.substr(0, what.find_first_of(": "));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (what.ends_with("missing") && option != nullptr) {
    return option_error(name, "has no value", option->get_type_name());
  }
  if (what.find("flag override") != std::string::npos) {
    return option_error(name.starts_with('-') ? name : "--" + name,
                        "has a value", "none");
  }
  if (option != nullptr && option->get_expected_min() > 1) {
    const std::size_t count = option->count();
    return option_error(
        name, count == 1 ? "has 1 value" : message("has {} values", count),
        message("{} values: {}", option->get_expected_min(),
                option->get_type_name()));
  }
  return option_error(name, "was given more than once", "once");
}

Error with_hint(const Error& error, Message hint) {
  ErrorDetails details = error.details();
  details.hint = std::move(hint);
  return {error.code(), std::move(details)};
}

// The only command that begins with the word, else the closest: "prun" is as
// close to "run" as to "prune".
std::string meant_command(std::string_view word,
                          const std::vector<std::string>& known) {
  const auto begins = [&](std::string_view name) {
    return name.starts_with(word);
  };
  return std::ranges::count_if(known, begins) == 1
             ? *std::ranges::find_if(known, begins)
             : closest(word, known);
}

// The new name of an option: the first that the command has, since --heads was
// a picture, a list or a number.
std::string renamed(std::string_view name,
                    const std::vector<std::string>& known) {
  for (const char* const now : {"--picture", "--num-heads"}) {
    if (name == "--heads" && std::ranges::find(known, now) != known.end()) {
      return now;
    }
  }
  return closest(name, known);
}

Error unknown_option(std::string_view name,
                     const std::vector<std::string>& known) {
  return with_hint(usage_error(message("unknown option {}", name)),
                   did_you_mean(renamed(name, known)));
}

Error extras_error(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  const std::string first = extras.empty() ? "" : extras.front();
  return first.starts_with('-')
             ? unknown_option(first, {})
             : usage_error(message("unexpected argument \"{}\"", first));
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

Error unknown_command_error(const CLI::App& app, const std::string& name) {
  return with_hint(
      usage_error(message("unknown command {}", name.empty() ? "\"\"" : name)),
      did_you_mean(meant_command(name, command_names(app))));
}

void refuse(Error error) { throw Refused(std::move(error)); }

Error parse_error(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments) {
  const CLI::App& command = chosen_command(app);
  const std::vector<std::string> known = option_names(command);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && name.size() > 2 &&
        std::ranges::find(known, name) == known.end()) {
      return unknown_option(name, known);
    }
  }
  if (const auto* const refused = dynamic_cast<const Refused*>(&error)) {
    return refused->error();
  }
  const std::string what = error.what();
  if (is<CLI::ArgumentMismatch>(error)) {
    return mismatch_error(command, what);
  }
  if (is<CLI::RequiredError>(error)) {  // "--find is required"
    const std::size_t end = what.rfind(' ', what.rfind(' ') - 1);
    return usage_error(message("{} is required", what.substr(0, end)));
  }
  return is<CLI::ExtrasError>(error) ? extras_error(command)
                                     : usage_error(what);
}

}  // namespace headwise::cli
