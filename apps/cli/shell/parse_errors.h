// What is wrong with a command line, with the closest name to what was
// mistyped.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"

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
Error unknown_command_error(const CLI::App& app, const std::string& name);

// Carries the error of a check through CLI11, for which errors are texts, to
// parse_error().
[[noreturn]] void refuse(Error error);

// For a command line that cannot be parsed.
Error parse_error(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments);

}  // namespace headwise::cli
