#include "args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "say.h"
#include "terminal_text.h"
#include "translation.h"

namespace headwise::cli {
namespace {

// Where the texts of the help begin, and how wide a line of it is.
constexpr std::size_t kTextColumn = 34;
constexpr std::size_t kColumns = 80;
constexpr const char* kHelpCommand = "help";

// `text` in lines of at most `width` columns, broken at spaces.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string lines;
  std::size_t columns = 0;  // of the last line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t more = columns_of(word);
    const bool fits = columns + 1 + more <= width;
    if (!lines.empty()) {
      lines += fits ? ' ' : '\n';
    }
    columns = !lines.empty() && fits ? columns + 1 + more : more;
    lines += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// "  headwise explain   watch a batch": where the comment begins, else npos.
std::size_t comment_of(std::string_view line) {
  constexpr std::string_view kGap = "  ";
  const std::size_t gap = line.rfind(kGap);
  return gap == std::string_view::npos || gap < line.find_first_not_of(' ')
             ? std::string_view::npos
             : gap + kGap.size();
}

std::vector<std::string> lines_of_examples(const std::string& examples) {
  return CLI::detail::split(examples, '\n');
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

// "headwise explain"
std::string full_name(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name()
                           : parent->get_name() + " " + app.get_name();
}

// The words of CLI11 that it takes labels for.
constexpr std::array kLabels = {"Usage", "OPTIONS", "SUBCOMMAND", "REQUIRED"};

// Examples first, and advanced options only where all are asked for.
class HelpText : public CLI::Formatter {
 public:
  explicit HelpText(std::string examples) : examples_(std::move(examples)) {
    column_width(kTextColumn);
    for (const char* label : kLabels) {
      this->label(label, in_language(label));
    }
  }

  const std::string& examples() const { return examples_; }
  void set_advanced(const CLI::Option* option) { advanced_.insert(option); }

  std::string make_description(const CLI::App* app) const override {
    std::string text = in_language("Examples") + ":\n";
    for (const std::string& line : lines_of_examples(examples_)) {
      const std::size_t comment = std::min(comment_of(line), line.size());
      text +=
          line.substr(0, comment) + in_language(line.substr(comment)) + "\n";
    }
    return text + "\n" + in_language(app->get_description()) + "\n";
  }
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override {
    const std::string name = "  " + make_option_name(option, is_positional) +
                             make_option_opts(option);
    const std::size_t columns = columns_of(name);
    std::string text =
        name + (columns < kTextColumn ? std::string(kTextColumn - columns, ' ')
                                      : "\n" + std::string(kTextColumn, ' '));
    for (const char c : make_option_desc(option)) {
      text +=
          c == '\n' ? "\n" + std::string(kTextColumn, ' ') : std::string(1, c);
    }
    return text + "\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(in_language(option->get_description()),
                   kColumns - kTextColumn);
  }
  // One empty line before a group: CLI11 has two before all but the first.
  std::string make_group(
      std::string group, bool is_positional,
      std::vector<const CLI::Option*> options) const override {
    const bool first = group == "Options";
    const std::string text = CLI::Formatter::make_group(
        in_language(group), is_positional, std::move(options));
    return first ? text : text.substr(1);
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, std::move(name)) +
           make_positionals(app) +
           make_options(app, mode == CLI::AppFormatMode::All) +
           make_subcommands(app, CLI::AppFormatMode::Normal) + "\n" +
           make_footer(app);
  }
  // The list of subcommands shows only their one-line descriptions.
  std::string make_subcommand(const CLI::App* sub) const override {
    std::size_t longest = 0;
    for (const std::string& name : command_names(*sub->get_parent())) {
      longest = std::max(longest, name.size());
    }
    return fmt::format("  {:<{}}  {}\n", sub->get_name(), longest,
                       in_language(sub->get_description()));
  }
  std::string make_subcommands(const CLI::App* app,
                               CLI::AppFormatMode) const override {
    std::string text;
    for (const CLI::App* sub : app->get_subcommands({})) {
      text += make_subcommand(sub);
    }
    return text.empty() ? text
                        : "\n" + in_language("Subcommands") + ":\n" + text;
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? ""
                                     : in_language(app->get_footer()) + "\n";
  }

 private:
  std::string make_options(const CLI::App* app, bool all) const {
    std::string text;
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options([&](const CLI::Option* option) {
        return option->get_group() == group && option->nonpositional() &&
               (all || !advanced_.contains(option));
      });
      if (!group.empty() && !options.empty()) {
        text += make_group(group, false, options);
      }
    }
    if (!all && !advanced_.empty()) {
      text += say({"\n{} more option{}: {} --help-all\n",
                   "\n옵션 {0}개 더 보기: {2} --help-all\n"},
                  advanced_.size(), advanced_.size() == 1 ? "" : "s",
                  full_name(*app));
    }
    return text;
  }

  std::string examples_;
  std::set<const CLI::Option*> advanced_;
};

// `mode` is Normal for the common options, All for every one.
std::string help_of(const CLI::App& command, CLI::AppFormatMode mode) {
  return command.get_formatter()->make_help(&command, full_name(command), mode);
}

// The list of commands, then every command with all of its options.
std::string help_of_all_commands(const CLI::App& app) {
  std::string text = help_of(app, CLI::AppFormatMode::Normal);
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    text += fmt::format("\n==== {} ====\n\n{}", full_name(*command),
                        help_of(*command, CLI::AppFormatMode::All));
  }
  return text;
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

std::string unknown_command_text(const CLI::App& app, const std::string& name) {
  return fmt::format("unknown command {}{}", name.empty() ? "\"\"" : name,
                     did_you_mean(closest(name, command_names(app))));
}

// The first argument if it names a command that does not exist, else
// null. CLI11 would print the program's help where --help follows it.
const std::string* unknown_command(const CLI::App& app,
                                   const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = command_names(app);
  const std::string* const word = command_word(arguments);
  return !known.empty() && word != nullptr && !word->starts_with('-') &&
                 std::ranges::find(known, *word) == known.end()
             ? word
             : nullptr;
}

// The sentence for a command line that cannot be parsed, with the closest name
// where something was mistyped.
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

void set_examples(CLI::App& app, const std::string& examples) {
  app.formatter(std::make_shared<HelpText>(examples));
}

// Every English text that the help of `app` or of one of its commands prints.
void add_help_texts(const CLI::App& app, std::set<std::string>& texts) {
  texts.insert(app.get_description());
  texts.insert(app.get_footer());
  for (const CLI::Option* option : app.get_options()) {
    texts.insert(option->get_description());
    texts.insert(option->get_group());
  }
  const auto& formatter = dynamic_cast<const HelpText&>(*app.get_formatter());
  for (const std::string& line : lines_of_examples(formatter.examples())) {
    texts.insert(line.substr(std::min(comment_of(line), line.size())));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    add_help_texts(*command, texts);
  }
}

CLI::Validator validator_of(Check check) { return {std::move(check), ""}; }

// Every command takes --lang, as the program does before the command. main()
// has read it by now (language_of()); here it is only listed and checked.
void add_language(CLI::App& app) {
  app.add_option_function<std::string>(
         "--lang", [](const std::string&) {},
         "language of help and messages (default: from LC_ALL, LC_MESSAGES or "
         "LANG)")
      ->type_name("en|ko")
      ->check(validator_of(one_of({"en", "ko"})));
}

}  // namespace

// ---- Options. ----

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::check(Check check) const {
  option_->check(validator_of(std::move(check)));
  return *this;
}

Option Option::transform(Check check) const {
  option_->transform(validator_of(std::move(check)));
  return *this;
}

Option Option::advanced() const {
  std::static_pointer_cast<HelpText>(app_->get_formatter())
      ->set_advanced(option_);
  return *this;
}

// ---- Arguments. ----

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
  return {app_, app_->add_option(name, value, description)};
}

// An empty text is a text: CLI11 would take it for none.
template <>
Option Arguments::add_option(const std::string& name,
                             std::optional<std::string>& value,
                             const std::string& description) const {
  return {app_, app_->add_option_function<std::string>(
                    name, [&value](const std::string& text) { value = text; },
                    description)};
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

Option Arguments::add_flag(const std::string& name, bool& value,
                           const std::string& description) const {
  return {app_,
          app_->add_flag(name, value, description)->disable_flag_override()};
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
  for (const CLI::Option* option : app_->parse_order()) {
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
  command.add_option("COMMAND", help_topic_, "default: list the commands")
      .type_name("");
  command.add_flag("--all", help_all_, "print every option");
}

std::string Program::help() const {
  return help_of(*app_, CLI::AppFormatMode::Normal);
}

Program::Parsed Program::answer_help_command() const {
  Parsed parsed;
  const CLI::App* topic = nullptr;
  for (const CLI::App* command :
       std::as_const(*app_).get_subcommands(nullptr)) {
    topic = command->get_name() == help_topic_ ? command : topic;
  }
  if (help_topic_ && topic == nullptr) {
    parsed.error = unknown_command_text(*app_, *help_topic_);
  } else if (topic == nullptr) {
    parsed.text = help_all_ ? help_of_all_commands(*app_) : help();
  } else {
    parsed.text = help_of(*topic, help_all_ ? CLI::AppFormatMode::All
                                            : CLI::AppFormatMode::Normal);
  }
  return parsed;
}

std::vector<std::string> Program::help_texts() const {
  std::set<std::string> texts(kLabels.begin(), kLabels.end());
  texts.insert({"Examples", "Positionals", "Subcommands"});
  add_help_texts(*app_, texts);
  texts.erase("");
  return {texts.begin(), texts.end()};
}

Program::Parsed Program::parse(
    const std::vector<std::string>& arguments) const {
  Parsed parsed;
  if (const std::string* const word = unknown_command(*app_, arguments)) {
    parsed.error = unknown_command_text(*app_, *word);
    return parsed;
  }
  try {
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (chosen_command(*app_).get_name() == kHelpCommand) {
      return answer_help_command();
    }
  } catch (const CLI::CallForHelp&) {
    parsed.text = help_of(chosen_command(*app_), CLI::AppFormatMode::Normal);
  } catch (const CLI::CallForAllHelp&) {
    const CLI::App& command = chosen_command(*app_);
    parsed.text = &command == app_.get()
                      ? help_of_all_commands(*app_)
                      : help_of(command, CLI::AppFormatMode::All);
  } catch (const CLI::CallForVersion& call) {
    parsed.text = std::string(call.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    parsed.error = parse_error_text(*app_, error, arguments);
  }
  return parsed;
}

}  // namespace headwise::cli
