// What every command's options share: help that begins with examples, checks
// with readable messages, and "did you mean".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::cli {

// A subcommand whose help begins with `examples`, one a line.
CLI::App* add_command(CLI::App& app, const std::string& name,
                      const std::string& description,
                      const std::string& examples);
// The examples of the program itself.
void set_examples(CLI::App& app, const std::string& examples);

// Checks whose messages say what was given and what was expected. Those of
// numbers are for Option::transform(): CLI11 by itself takes 010 for 8 and -1
// for 2^64 - 1.
CLI::Validator at_least_one();
CLI::Validator natural_number();  // from 0 on
CLI::Validator whole_number();
CLI::Validator number_between(double low, double high,
                              std::string_view expected);
CLI::Validator probability();  // from 0 to 1
CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator not_empty();

// An option that takes a number from 1 on.
template <class Number>
CLI::Option* add_count(CLI::App& command, const std::string& name,
                       Number& count, const std::string& description) {
  return command.add_option(name, count, description)
      ->type_name("N")
      ->transform(at_least_one());
}

// The options that were typed, by name; for a command's callback.
std::vector<std::string> given_options(const CLI::App& command);
// The same with their values, as a shell takes them: " --model DIR 'a text'".
std::string typed_text(const CLI::App& command);
// As a word of a shell: in single quotes unless it is plain.
std::string shell_word(const std::string& text);

// The sentence for a command line that cannot be parsed, with the closest name
// where something was mistyped.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& arguments);

// The candidate closest to `given`, or "" when none is close.
std::string closest(std::string_view given,
                    const std::vector<std::string>& candidates);

}  // namespace headwise::cli
