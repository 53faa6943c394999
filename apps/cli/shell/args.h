// The program: commands, their options, help that begins with examples.
// CLI11 stays behind this header, for it is expensive to compile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "option_row.h"

namespace CLI {
class App;
}  // namespace CLI

namespace headwise::cli {

// The arguments of the program or of one of its commands. A handle: copies name
// the same arguments.
class Arguments {
 public:
  explicit Arguments(CLI::App* app);

  // The same arguments; the help lists what is added here under this heading.
  Arguments under(std::string heading) const;

  // A subcommand. Its help begins with `examples`, one per line.
  Arguments add_command(const std::string& name, const std::string& description,
                        const std::string& examples) const;
  // What the rows point to must outlive the program.
  void add(std::vector<OptionRow> rows) const;
  void footer(const std::string& text) const;
  // Called once the command was chosen and its options are read.
  void on_parsed(std::function<void()> action) const;
  // What was typed goes to `line`, before on_parsed() acts.
  void keep_line(CommandLine& line) const;

 private:
  void declare(const OptionRow& row) const;
  CommandLine line() const;

  CLI::App* app_;
  struct Declared;
  std::shared_ptr<Declared> declared_;
  std::string heading_;  // empty: "Options"
};

// The whole command line. Every command has --help, its common options, and
// --help-all.
class Program {
 public:
  Program(const std::string& name, const std::string& description,
          const std::string& examples, const std::string& version);
  ~Program();

  Arguments arguments() const;
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
