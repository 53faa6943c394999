// Whose heads `headwise view` and `headwise stats` look at, as typed; an empty
// string is an option that was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operation/dialect_flags.h"
#include "operation/operation_flags.h"
#include "operation/rotary_flags.h"
#include "shell/command_line.h"

namespace headwise::cli {

class Arguments;

struct ViewedFlags {
  CommandLine line;
  std::string model;
  std::optional<std::string> text;
  std::vector<std::string> pair;  // two sentences, or none
  std::string texts;              // a file, one text per line
  std::string decoder_text;       // of an encoder-decoder
  std::string part;               // "encoder", "decoder", "cross"
  std::string ablate;             // heads, "3.1,4.5"
  std::string against;            // the folder of a second model
  bool matched = false;           // its heads are paired by their maps
  std::string onnx;
  std::string data;
  std::string node;
  std::size_t memory_limit = 0;  // MiB
  std::string query;
  std::string key;
  std::string attn_weights;
  bool cross = false;
  std::string layout;
  std::string dtype;
  std::string query_tokens;
  std::string key_tokens;
  std::string separators;
  std::string query_lengths;
  std::string layers;
  std::optional<std::size_t> sequence;
  std::optional<std::size_t> max_tokens;
  OperationFlags operation;
  RotaryFlags rotary;
  std::string command;  // "view": begins the messages

  // Whether heads stand before rows in the files.
  bool heads_first() const { return cli::heads_first(operation, layout); }
  // The first option that places the queries among the keys, as with a
  // key/value cache: the keys are then of the same sequence. Empty: none.
  std::string_view relating_option() const;
};

void add_viewed_options(const Arguments& command, ViewedFlags& flags);
void add_against_options(const Arguments& command, ViewedFlags& flags);

}  // namespace headwise::cli
