#include "args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "headwise/words/language.h"
#include "help_text.h"
#include "outcome.h"
#include "parse_errors.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelpCommand = "help";

// A check whose error names the option.
CLI::Validator validator_of(const CLI::Option* option, Check check) {
  return {[option, check = std::move(check)](std::string& text) {
            if (const Status s = check(text); !s) {
              ErrorDetails details = s.error().details();
              details.argument = option->get_name();
              refuse({s.error().code(), std::move(details)});
            }
            return std::string();
          },
          ""};
}

// Every command takes --lang, as the program does before the command. main()
// has read it by now (language_of()); here it is only listed and checked.
void add_language(CLI::App& app) {
  CLI::Option* const option = app.add_option_function<std::string>(
      "--lang", [](const std::string&) {},
      "language of help and messages (default: from LC_ALL, LC_MESSAGES or "
      "LANG)");
  std::vector<std::string> codes;
  for (const Language& language : languages()) {
    codes.emplace_back(language.code());
  }
  option->type_name(fmt::format("{}", fmt::join(codes, "|")))
      ->check(validator_of(option, one_of(std::move(codes))));
}

// What CLI11 reads into `place`.
template <class T>
CLI::Option* add_to(CLI::App& app, const OptionRow& row, T* place) {
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(row.name, *place, row.help)->disable_flag_override();
  } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
    // An empty text is a text: CLI11 would take it for none.
    return app.add_option_function<std::string>(
        row.name, [place](const std::string& given) { *place = given; },
        row.help);
  } else {
    return app.add_option(row.name, *place, row.help);
  }
}

// What stands in place of an option that was not typed.
std::vector<std::string> default_of(const OptionRow& row) {
  const auto* const text = std::get_if<std::string*>(&row.place);
  return text == nullptr || (**text).empty() ? std::vector<std::string>()
                                             : std::vector{**text};
}

// The options and values as a shell takes them.
std::string typed_text(const CLI::App& app) {
  std::string text;
  std::vector<const CLI::Option*> written;
  for (const CLI::Option* option : app.parse_order()) {
    // An option of several values is listed once for each of them.
    if (std::ranges::find(written, option) != written.end()) {
      continue;
    }
    written.push_back(option);
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

}  // namespace

// ---- Arguments. ----

// The options of a command, with what each stands for.
struct Arguments::Declared {
  std::map<const CLI::Option*, OptionRow> rows;
  std::vector<CommandLine*> lines;  // to be filled
};

Arguments::Arguments(CLI::App* app)
    : app_(app), declared_(std::make_shared<Declared>()) {}

Arguments Arguments::under(std::string heading) const {
  Arguments same = *this;
  same.heading_ = std::move(heading);
  return same;
}

Arguments Arguments::add_command(const std::string& name,
                                 const std::string& description,
                                 const std::string& examples) const {
  CLI::App* command = app_->add_subcommand(name, description);
  set_examples(*command, examples);
  add_language(*command);
  return Arguments(command);
}

void Arguments::add(std::vector<OptionRow> rows) const {
  for (const OptionRow& row : rows) {
    declare(row);
  }
}

void Arguments::declare(const OptionRow& row) const {
  CLI::Option* const option = std::visit(
      [&](auto* place) { return add_to(*app_, row, place); }, row.place);
  if (!std::holds_alternative<bool*>(row.place)) {
    option->type_name(row.takes.type);
  }
  if (row.takes.rewrites) {
    option->transform(validator_of(option, row.takes.check));
  } else if (row.takes.check) {
    option->check(validator_of(option, row.takes.check));
  }
  if (row.takes.values != 1) {
    option->expected(row.takes.values);
  }
  if (row.takes.each_time) {  // otherwise it would take the positional, too
    option->allow_extra_args(false);
  }
  if (row.more.is_required) {
    option->required();
  }
  if (row.more.is_advanced) {
    set_advanced(*app_, *option);
  }
  if (!heading_.empty()) {
    option->group(heading_);
  }
  declared_->rows.emplace(option, row);
}

void Arguments::footer(const std::string& text) const { app_->footer(text); }

CommandLine Arguments::line() const {
  std::vector<CommandLine::Typed> options;
  for (const CLI::Option* option : app_->get_options()) {
    CommandLine::Typed typed{.option = option->get_name(),
                             .given = option->count() != 0};
    const auto row = declared_->rows.find(option);
    if (row != declared_->rows.end()) {
      typed.takes = row->second.takes;
      typed.values = typed.given ? option->results() : default_of(row->second);
    }
    options.push_back(std::move(typed));
  }
  return {std::move(options), typed_text(*app_)};
}

void Arguments::keep_line(CommandLine& line) const {
  declared_->lines.push_back(&line);
}

void Arguments::on_parsed(std::function<void()> action) const {
  app_->callback([*this, action = std::move(action)] {
    for (CommandLine* const kept : declared_->lines) {
      *kept = line();
    }
    action();
  });
}

// ---- The program. ----

Program::Program(const std::string& name, const std::string& description,
                 const std::string& examples, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  set_examples(*app_, examples);
  add_language(*app_);
  // Before any command is added: commands inherit both.
  app_->set_help_flag("-h,--help", "print the common options");
  app_->set_help_all_flag("--help-all", "print every option");
  app_->set_version_flag("--version", version, "print the version");
  app_->require_subcommand(0, 1);
}

Program::~Program() = default;

Arguments Program::arguments() const { return Arguments(app_.get()); }

void Program::add_help_command() {
  const Arguments command =
      arguments().add_command(kHelpCommand, "show the help of a command",
                              "  headwise help\n"
                              "  headwise help explain\n"
                              "  headwise help explain --all");
  command.add({{"COMMAND", &help_topic_, any_text(""),
                "command to explain (default: list the commands)"},
               {"--all", &help_all_, flag(), "print every option"}});
}

std::string Program::help() const { return help_of(*app_); }

Error Program::unknown(const std::string& name) const {
  const auto left_out = left_out_.find(name);
  return left_out == left_out_.end()
             ? unknown_command_error(*app_, name)
             : usage_error(
                   message("{} is not in this build: it needs headwise::{}",
                           name, left_out->second));
}

Program::Parsed Program::answer_help_command() const {
  Parsed parsed;
  const CLI::App* topic = nullptr;
  for (const CLI::App* command :
       std::as_const(*app_).get_subcommands(nullptr)) {
    topic = command->get_name() == help_topic_ ? command : topic;
  }
  if (help_topic_ && topic == nullptr) {
    parsed.error = unknown(*help_topic_);
  } else if (topic == nullptr) {
    parsed.text = help_all_ ? help_of_all_commands(*app_) : help();
  } else {
    parsed.text = help_all_ ? full_help_of(*topic) : help_of(*topic);
  }
  return parsed;
}

std::vector<std::string> Program::help_texts() const {
  const std::set<std::string> texts = help_texts_of(*app_);
  return {texts.begin(), texts.end()};
}

Program::Parsed Program::parse(
    const std::vector<std::string>& arguments) const {
  Parsed parsed;
  if (const std::string* const word = unknown_command(*app_, arguments)) {
    parsed.error = unknown(*word);
    return parsed;
  }
  try {
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (chosen_command(*app_).get_name() == kHelpCommand) {
      return answer_help_command();
    }
  } catch (const CLI::CallForHelp&) {
    parsed.text = help_of(chosen_command(*app_));
  } catch (const CLI::CallForAllHelp&) {
    const CLI::App& command = chosen_command(*app_);
    parsed.text = &command == app_.get() ? help_of_all_commands(*app_)
                                         : full_help_of(command);
  } catch (const CLI::CallForVersion& call) {
    parsed.text = std::string(call.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    parsed.error = parse_error(*app_, error, arguments);
  }
  const CLI::App& command = chosen_command(*app_);
  parsed.command = &command == app_.get() ? "" : command.get_name();
  return parsed;
}

}  // namespace headwise::cli
