#include "args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

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

}  // namespace

// ---- Options. ----

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::check(Check check) const {
  option_->check(validator_of(option_, std::move(check)));
  return *this;
}

Option Option::transform(Check check) const {
  option_->transform(validator_of(option_, std::move(check)));
  return *this;
}

Option Option::values(int count) const {
  option_->expected(count);
  return *this;
}

Option Option::advanced() const {
  set_advanced(*app_, *option_);
  return *this;
}

// ---- Arguments. ----

Arguments Arguments::under(std::string heading) const {
  Arguments same = *this;
  same.heading_ = std::move(heading);
  return same;
}

Option Arguments::under_heading(CLI::Option* option) const {
  if (!heading_.empty()) {
    option->group(heading_);
  }
  return {app_, option};
}

Arguments Arguments::add_command(const std::string& name,
                                 const std::string& description,
                                 const std::string& examples) const {
  CLI::App* command = app_->add_subcommand(name, description);
  set_examples(*command, examples);
  add_language(*command);
  return Arguments(command);
}

template <class T>
Option Arguments::add_option(const std::string& name, T& value,
                             const std::string& description) const {
  return under_heading(app_->add_option(name, value, description));
}

// An empty text is a text: CLI11 would take it for none.
template <>
Option Arguments::add_option(const std::string& name,
                             std::optional<std::string>& value,
                             const std::string& description) const {
  return under_heading(app_->add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, description));
}

// The other types an option can have.
template Option Arguments::add_option(const std::string&, std::string&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&,
                                      std::vector<std::string>&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&, std::uint64_t&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&,
                                      std::optional<std::uint64_t>&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&, std::int64_t&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&, double&,
                                      const std::string&) const;
template Option Arguments::add_option(const std::string&,
                                      std::optional<double>&,
                                      const std::string&) const;

Option Arguments::add_choice(const std::string& name, std::string& value,
                             const std::vector<std::string>& choices,
                             const std::string& description) const {
  return add_option(name, value, description)
      .type_name(fmt::format("{}", fmt::join(choices, "|")))
      .check(one_of(choices));
}

Option Arguments::add_flag(const std::string& name, bool& value,
                           const std::string& description) const {
  return under_heading(
      app_->add_flag(name, value, description)->disable_flag_override());
}

void Arguments::footer(const std::string& text) const { app_->footer(text); }

void Arguments::on_parsed(std::function<void()> action) const {
  app_->callback(std::move(action));
}

std::vector<std::string> Arguments::given_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() != 0) {
      names.push_back(option->get_name());
    }
  }
  return names;
}

std::string Arguments::typed_text() const {
  std::string text;
  std::vector<const CLI::Option*> written;
  for (const CLI::Option* option : app_->parse_order()) {
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

void Program::add_help_command() {
  const Arguments command =
      arguments().add_command(kHelpCommand, "show the help of a command",
                              "  headwise help\n"
                              "  headwise help explain\n"
                              "  headwise help explain --all");
  command
      .add_option("COMMAND", help_topic_,
                  "command to explain (default: list the commands)")
      .type_name("");
  command.add_flag("--all", help_all_, "print every option");
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
