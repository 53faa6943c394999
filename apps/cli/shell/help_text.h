// What --help prints: examples first, then the options under their headings.
#pragma once

#include <set>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headwise::cli {

// From now on the help of `app` has this form and begins with `examples`, one
// per line.
void set_examples(CLI::App& app, const std::string& examples);

// Only --help-all shows the option; --help counts it. For an app with examples.
void set_advanced(CLI::App& app, const CLI::Option& option);

std::string help_of(const CLI::App& app);
std::string full_help_of(const CLI::App& app);  // with advanced options
// The list of commands, then every command with all of its options.
std::string help_of_all_commands(const CLI::App& app);

// Every English text that the help of `app` or of one of its commands prints.
std::set<std::string> help_texts_of(const CLI::App& app);

}  // namespace headwise::cli
