// The command line: commands, their options, help that begins with examples.
// CLI11 stays behind this header, for it is expensive to compile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checks.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headwise::cli {

// One option that was added; each setter gives it back, so that they chain.
class Option {
 public:
  Option(CLI::App* app, CLI::Option* option) : app_(app), option_(option) {}

  Option type_name(const std::string& name) const;
  Option required() const;
  // Several checks run in their order, those of transform() before them.
  Option check(Check check) const;
  // A check that may rewrite the text before it is read.
  Option transform(Check check) const;
  // Takes this many values.
  Option values(int count) const;
  // Left out of --help, which then says so; --help-all has it.
  Option advanced() const;

 private:
  CLI::App* app_;
  CLI::Option* option_;
};

// The arguments of the program or of one of its commands. A handle: copies name
// the same arguments.
class Arguments {
 public:
  explicit Arguments(CLI::App* app) : app_(app) {}

  // The same arguments; the help lists what is added here under this heading.
  Arguments under(std::string heading) const;

  // A subcommand. Its help begins with `examples`, one per line.
  Arguments add_command(const std::string& name, const std::string& description,
                        const std::string& examples) const;
  // A name without "--" is positional. T: std::string, a number, std::optional
  // of these, std::vector<std::string>; args.cc has the list.
  template <class T>
  Option add_option(const std::string& name, T& value,
                    const std::string& description) const;
  // Text that may not be empty, such as a path; the help calls it `type`.
  template <class Text>
  Option add_text(const std::string& name, Text& value, const std::string& type,
                  const std::string& description) const {
    return add_option(name, value, description)
        .type_name(type)
        .check(not_empty());
  }
  // One of `choices`, which the help lists.
  Option add_choice(const std::string& name, std::string& value,
                    const std::vector<std::string>& choices,
                    const std::string& description) const;
  // A whole number from 0 on.
  template <class Number>
  Option add_number(const std::string& name, Number& number,
                    const std::string& description) const {
    return add_option(name, number, description)
        .type_name("N")
        .transform(natural_number());
  }
  // A whole number from 1 on.
  template <class Number>
  Option add_count(const std::string& name, Number& count,
                   const std::string& description) const {
    return add_option(name, count, description)
        .type_name("N")
        .transform(at_least_one());
  }
  // Takes no value.
  Option add_flag(const std::string& name, bool& value,
                  const std::string& description) const;
  void footer(const std::string& text) const;
  // Called once the command was chosen and its options are read.
  void on_parsed(std::function<void()> action) const;

  // The options that were typed, by name; for on_parsed().
  std::vector<std::string> given_options() const;
  // The same with their values, as a shell takes them: " --model DIR 'a text'".
  std::string typed_text() const;

 private:
  Option under_heading(CLI::Option* option) const;

  CLI::App* app_;
  std::string heading_;  // empty: "Options"
};

// The whole command line. Every command has --help, its common options, and
// --help-all.
class Program {
 public:
  Program(const std::string& name, const std::string& description,
          const std::string& examples, const std::string& version);
  ~Program();

  Arguments arguments() const { return Arguments(app_.get()); }
  // The command `help [COMMAND]`; parse() answers it.
  void add_help_command();
  // A command that this build lacks: parse() says which component it needs.
  void add_left_out(const std::string& name, const std::string& component) {
    left_out_.emplace(name, component);
  }
  std::string help() const;
  // Every text that help prints, of all commands, in English.
  std::vector<std::string> help_texts() const;

  // What is left to do where no command runs: print `text`, or say `error`.
  struct Parsed {
    std::optional<std::string> text;  // of help or --version
    std::optional<Error> error;       // hints at the closest name to a typo
    std::string command;              // the chosen one; empty: none
  };
  Parsed parse(const std::vector<std::string>& arguments) const;

 private:
  Parsed answer_help_command() const;
  Error unknown(const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::map<std::string, std::string> left_out_;  // their components
  std::optional<std::string> help_topic_;
  bool help_all_ = false;
};

}  // namespace headwise::cli
