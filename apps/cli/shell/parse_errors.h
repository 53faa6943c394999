// What is wrong with a command line, as a sentence with the closest name to
// what was mistyped.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace headwise::cli {

// The command that was parsed; the program where there is none.
const CLI::App& chosen_command(const CLI::App& app);

// The first argument if it names a command that does not exist, else
// null. CLI11 would print the program's help where --help follows it.
const std::string* unknown_command(const CLI::App& app,
                                   const std::vector<std::string>& arguments);
std::string unknown_command_text(const CLI::App& app, const std::string& name);

// For a command line that cannot be parsed.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& arguments);

}  // namespace headwise::cli
