#include "help_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "say.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

// Where the texts of the help begin, and how wide a line of it is.
constexpr std::size_t kTextColumn = 34;
constexpr std::size_t kColumns = 80;

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
    const std::string name = "  " + name_in_list(option, is_positional);
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
    for (const CLI::App* other : sub->get_parent()->get_subcommands({})) {
      longest = std::max(longest, other->get_name().size());
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
  // A positional with a type is listed by its type: "TEXT|-".
  std::string name_in_list(const CLI::Option* option,
                           bool is_positional) const {
    std::string opts = make_option_opts(option);
    // The type of an option with several values lists them: "A B".
    if (option->get_expected_min() > 1) {
      const std::string times = fmt::format(" x {}", option->get_expected());
      opts.erase(opts.find(times), times.size());
    }
    return is_positional && !option->get_type_name().empty()
               ? opts.substr(1)
               : make_option_name(option, is_positional) + opts;
  }
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
      text += say("\n{} more option{}: {} --help-all\n", advanced_.size(),
                  advanced_.size() == 1 ? "" : "s", full_name(*app));
    }
    return text;
  }

  std::string examples_;
  std::set<const CLI::Option*> advanced_;
};

std::string help_in(CLI::AppFormatMode mode, const CLI::App& app) {
  return app.get_formatter()->make_help(&app, full_name(app), mode);
}

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

}  // namespace

void set_examples(CLI::App& app, const std::string& examples) {
  app.formatter(std::make_shared<HelpText>(examples));
}

void set_advanced(CLI::App& app, const CLI::Option& option) {
  std::static_pointer_cast<HelpText>(app.get_formatter())
      ->set_advanced(&option);
}

std::string help_of(const CLI::App& app) {
  return help_in(CLI::AppFormatMode::Normal, app);
}

std::string full_help_of(const CLI::App& app) {
  return help_in(CLI::AppFormatMode::All, app);
}

std::string help_of_all_commands(const CLI::App& app) {
  std::string text = help_of(app);
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    text += fmt::format("\n==== {} ====\n\n{}", full_name(*command),
                        full_help_of(*command));
  }
  return text;
}

std::set<std::string> help_texts_of(const CLI::App& app) {
  std::set<std::string> texts(kLabels.begin(), kLabels.end());
  texts.insert({"Examples", "Positionals", "Subcommands"});
  add_help_texts(app, texts);
  texts.erase("");
  return texts;
}

}  // namespace headwise::cli
