// How every command is added to the program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "args.h"
#include "command.h"

namespace headwise::cli {

struct CommandHelp {
  std::string_view name;
  std::string_view description;
  std::string_view examples;  // one per line
  std::string_view footer{};
};

// `add_options` declares the options, which fill the flags; once they are
// parsed, `chosen` is run(flags, streams).
template <class Flags>
void add_command(const Arguments& app, Command& chosen, const CommandHelp& help,
                 void (*add_options)(const Arguments&, Flags&),
                 Outcome (*run)(const Flags&, const Streams&)) {
  const Arguments command =
      app.add_command(std::string(help.name), std::string(help.description),
                      std::string(help.examples));
  command.footer(std::string(help.footer));
  const auto flags = std::make_shared<Flags>();
  add_options(command, *flags);
  command.on_parsed([flags, run, &chosen] {
    chosen = [flags, run](const Streams& streams) {
      return run(*flags, streams);
    };
  });
}

}  // namespace headwise::cli
