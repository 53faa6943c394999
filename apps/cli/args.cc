#include "args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>

namespace headwise::cli {
namespace {

// Where the texts of the help begin, and how wide a line of it is.
constexpr std::size_t kTextColumn = 34;
constexpr std::size_t kColumns = 80;

// `text` in lines of at most `width`, broken at spaces.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string lines;
  while (text.size() > width) {
    const std::size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos) {
      break;
    }
    lines += std::string(text.substr(0, space)) + "\n";
    text.remove_prefix(space + 1);
  }
  return lines + std::string(text);
}

// Prints the examples before the usage.
class ExamplesFirst : public CLI::Formatter {
 public:
  explicit ExamplesFirst(std::string examples)
      : examples_(std::move(examples)) {
    column_width(kTextColumn);
  }

  std::string make_description(const CLI::App* app) const override {
    return fmt::format("Examples:\n{}\n\n{}", examples_,
                       CLI::Formatter::make_description(app));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option),
                   kColumns - kTextColumn);
  }
  // One empty line before a group: CLI11 has two before all but the first.
  std::string make_group(
      std::string group, bool is_positional,
      std::vector<const CLI::Option*> options) const override {
    const bool first = group == "Options";
    const std::string text = CLI::Formatter::make_group(
        std::move(group), is_positional, std::move(options));
    return first ? text : text.substr(1);
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

// ---- Checks. ----

std::string unexpected(const std::string& text, std::string_view expected) {
  return fmt::format("is {}, expected {}", text.empty() ? "empty" : text,
                     expected);
}

template <class T>
CLI::Validator whole_from(T low, std::string_view expected) {
  return {[=](std::string& text) -> std::string {
            T number{};
            const char* const end = text.data() + text.size();
            const auto [stop, error] =
                std::from_chars(text.data(), end, number);
            if (error == std::errc::result_out_of_range && stop == end) {
              return unexpected(text, "a number that fits 64 bits");
            }
            if (error != std::errc{} || stop != end || number < low) {
              return unexpected(text, expected);
            }
            text = std::to_string(number);
            return "";
          },
          ""};
}

// ---- What CLI11 says, in our words. ----

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
  return whole_from<std::size_t>(1, "a whole number from 1 on");
}

CLI::Validator natural_number() {
  return whole_from<std::uint64_t>(0, "a whole number from 0 on");
}

CLI::Validator whole_number() {
  return whole_from(std::numeric_limits<std::int64_t>::min(), "a whole number");
}

CLI::Validator number_between(double low, double high,
                              std::string_view expected) {
  return {[=](const std::string& text) -> std::string {
            double number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] =
                std::from_chars(text.data(), end, number);
            const bool fits = error == std::errc{} && stop == end &&
                              number >= low && number <= high;
            return fits ? "" : unexpected(text, expected);
          },
          ""};
}

CLI::Validator probability() {
  return number_between(0, 1, "a number from 0 to 1");
}

CLI::Validator one_of(std::vector<std::string> names) {
  return {[names = std::move(names)](const std::string& text) -> std::string {
            if (std::ranges::find(names, text) != names.end()) {
              return "";
            }
            return unexpected(
                       text, fmt::format("one of {}", fmt::join(names, ", "))) +
                   did_you_mean(closest(text, names));
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) -> std::string {
            return text.empty() ? "is empty, expected a value" : "";
          },
          ""};
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

std::vector<std::string> given_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() != 0) {
      names.push_back(option->get_name());
    }
  }
  return names;
}

std::string shell_word(const std::string& value) {
  const bool plain =
      !value.empty() && std::ranges::all_of(value, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./,=+:@").find(static_cast<char>(c)) !=
                   std::string_view::npos;
      });
  if (plain) {
    return value;
  }
  std::string quoted = "'";
  for (const char c : value) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

std::string typed_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.parse_order()) {
    if (!option->get_positional() || option->get_lnames().size() != 0) {
      text += " " + option->get_name();
    }
    for (const std::string& value : option->get_expected_min() == 0
                                        ? std::vector<std::string>()
                                        : option->results()) {
      text += " " + shell_word(value);
    }
  }
  return text;
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
        "unknown command {}{}",
        arguments.front().empty() ? "\"\"" : arguments.front(),
        did_you_mean(closest(arguments.front(), command_names(app))));
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
