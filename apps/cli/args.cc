#include "args.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace headwise::cli {
namespace {

// Prints the examples before the usage.
class ExamplesFirst : public CLI::Formatter {
 public:
  explicit ExamplesFirst(std::string examples)
      : examples_(std::move(examples)) {
    column_width(34);
  }

  std::string make_description(const CLI::App* app) const override {
    return fmt::format("Examples:\n{}\n\n{}", examples_,
                       CLI::Formatter::make_description(app));
  }
  // The list of subcommands shows their one-line descriptions alone.
  std::string make_subcommand(const CLI::App* sub) const override {
    return fmt::format("  {:<10}{}\n", sub->get_name(), sub->get_description());
  }

 private:
  std::string examples_;
};

// Edit distance (insert, delete, replace, swap of neighbours).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t replace = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
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

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? "" : fmt::format("; did you mean {}?", name);
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name,
                      const std::string& description,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  set_examples(*command, examples);
  return command;
}

void set_examples(CLI::App& app, const std::string& examples) {
  app.formatter(std::make_shared<ExamplesFirst>(examples));
}

CLI::Validator at_least_one() {
  return {[](const std::string& text) -> std::string {
            const bool digits =
                !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
                  return std::isdigit(c) != 0;
                });
            const bool zero = text.find_first_not_of('0') == std::string::npos;
            if (digits && !zero) {
              return "";
            }
            return fmt::format("is {}, expected a whole number from 1 on",
                               text);
          },
          "N >= 1"};
}

std::string closest(std::string_view given,
                    const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t smallest = std::max<std::size_t>(given.size() / 3, 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(given, candidate);
    if (d < smallest) {
      smallest = d;
      best = candidate;
    }
  }
  return best;
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
  if (&command == &app && !arguments.empty() &&
      !arguments.front().starts_with("-")) {
    return fmt::format(
        "unknown command {}{}", arguments.front(),
        did_you_mean(closest(arguments.front(), command_names(app))));
  }
  return error.what();
}

}  // namespace headwise::cli
