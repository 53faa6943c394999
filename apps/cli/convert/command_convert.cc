// headwise convert
// Writes the attention layers of a file in the layout of another library.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "convert_layers.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "interop/find_params.h"
#include "operation/layer_choice.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/file_plan.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise convert model.safetensors out.safetensors --to distilbert
  headwise convert model/ layer.npz --to keras --layer 5 --heads 12 \
      --attention-only)";

constexpr std::string_view kPromise =
    R"(Elements keep their type and are moved, never computed: there and back again is
the same bit for bit. Tensors that belong to no attention layer are carried over
as they are, as is the metadata from .safetensors to .safetensors; of other
layers than that of --layer nothing is. OUT is replaced whole or not at all.)";

bool to_npz(const ConvertFlags& flags) { return flags.out.ends_with(".npz"); }

// Whether the error is the disk's or the memory's, not the tensors'.
Outcome failure_of_writing(const Error& error) {
  return error.code() == ErrorCode::io_error ||
                 error.code() == ErrorCode::out_of_memory
             ? failure_to_write(error)
             : failure_of(error);
}

// The file's; of --layer with the heads of that layer only, for its number may
// change.
SafetensorsMetadata metadata_of(const ConvertFlags& flags,
                                const ParamFile& file,
                                const Conversion& conversion) {
  SafetensorsMetadata metadata = file.metadata();
  if (flags.layer && metadata.erase("num_heads") != 0) {
    metadata.erase("kept_heads");
    if (conversion.num_heads) {
      metadata["num_heads"] = std::to_string(*conversion.num_heads);
    }
  }
  return metadata;
}

Outcome write(const ConvertFlags& flags, const ParamFile& file,
              const Conversion& conversion) {
  std::map<std::string, AnyView> views;
  for (const auto& [name, array] : conversion.tensors) {
    views.emplace(name, array.view());
  }
  std::vector<SafetensorsTensor> kept;  // what the views look into
  if (!flags.attention_only) {
    for (const std::string& name : conversion.others) {
      auto tensor = file.tensor(name);
      if (!tensor) {
        return failure_of(tensor.error());
      }
      views.emplace(name, tensor->view);
      kept.push_back(*std::move(tensor));
    }
  }
  const Status written =
      to_npz(flags) ? write_npz(flags.out, views)
                    : write_safetensors(flags.out, views,
                                        metadata_of(flags, file, conversion));
  return written ? Outcome{} : failure_of_writing(written.error());
}

// "out.npz: layers 0-5, bert to keras; 55 other tensors carried over"
std::string summary(const ConvertFlags& flags, const ParamFile& file,
                    const Conversion& conversion) {
  const std::size_t others = conversion.others.size();
  std::string text =
      say({"{}: layer{} {}, {} to {}; {} other tensor{} {}",
           "{0}: 레이어 {2}, {3} -> {4}; 다른 텐서 {5}개 {7}"},
          flags.out, conversion.layers.size() == 1 ? "" : "s",
          ranges_text(conversion.layers), conversion.from.layout->name,
          flags.to, others, others == 1 ? "" : "s",
          flags.attention_only ? say({"left out", "제외"})
                               : say({"carried over", "그대로 복사"}));
  if (const std::size_t left =
          conversion.from.layers.size() - conversion.layers.size();
      left > 0) {
    text += say({"; {} other layer{} left out", "; 다른 레이어 {}개 제외"},
                left, left == 1 ? "" : "s");
  }
  if (to_npz(flags) && !file.metadata().empty()) {
    text += say({"; metadata left out, .npz has none",
                 "; .npz에는 메타데이터가 없어 제외"});
  }
  return one_line(text) + "\n";
}

Outcome run_convert(const ConvertFlags& flags, const Streams& streams) {
  if (!to_npz(flags) && !flags.out.ends_with(".safetensors")) {
    return usage(
        fmt::format("OUT is {}, expected a name that ends in .safetensors or "
                    ".npz",
                    flags.out));
  }
  FilePlan files;
  // IN may be OUT: it is read into memory first.
  files.output("OUT", flags.out);
  if (Outcome failed = files.check()) {
    return failed;
  }
  const auto path = find_params("convert", flags.in);
  if (!path) {
    return failure_of(path.error());
  }
  const auto file = ParamFile::open("convert", *path);
  if (!file) {
    return failure_of(file.error());
  }
  const auto conversion = convert_layers(*file, flags);
  if (!conversion) {
    return failure_of(conversion.error());
  }
  if (Outcome failed = write(flags, *file, *conversion)) {
    return failed;
  }
  return files.print_summary(streams, summary(flags, *file, *conversion));
}

void add_files(const Arguments& command, ConvertFlags& flags) {
  command
      .add_option("IN", flags.in,
                  "a .safetensors, a .safetensors.index.json, a .npz, or a "
                  "folder with one of a model or with NAME.npy files")
      .type_name("")
      .check(not_empty())
      .required();
  command
      .add_option("OUT", flags.out,
                  "the file to write, .safetensors or .npz by its ending")
      .type_name("")
      .check(not_empty())
      .required();
}

void add_layout_options(const Arguments& command, ConvertFlags& flags) {
  command
      .add_option("--to", flags.to,
                  "whose names and shapes OUT has: " + layout_list())
      .type_name("NAME")
      .check(one_of(layout_names()))
      .required()
      .group("Layout");
  command
      .add_option("--prefix", flags.prefix,
                  "before the names in OUT, one that the layout has, such as "
                  "bert. or \"\" (default: as IN has it)")
      .type_name("TEXT")
      .group("Layout")
      .advanced();
  command
      .add_option("--layout-of", flags.layout_of,
                  "whose names and shapes IN has (default: the one that fits)")
      .type_name("NAME")
      .check(one_of(layout_names()))
      .group("Layout")
      .advanced();
  command
      .add_count(
          "--heads", flags.heads,
          "heads of queries, where OUT's shapes need them and neither IN nor "
          "its config.json has them")
      .group("Layout");
}

void add_choice_options(const Arguments& command, ConvertFlags& flags) {
  command.add_option("--layer", flags.layer, "this layer alone (default: all)")
      .type_name("N")
      .transform(natural_number())
      .group("Choice");
  command
      .add_option("--as-layer", flags.as_layer,
                  "the number of that layer in OUT (default: as in IN)")
      .type_name("N")
      .transform(natural_number())
      .group("Choice")
      .advanced();
  command
      .add_flag("--attention-only", flags.attention_only,
                "leave out the tensors of no attention layer")
      .group("Choice");
}

}  // namespace

void add_convert(const Arguments& app, Command& chosen) {
  const Arguments command = app.add_command(
      "convert", "write attention layers as another library has them",
      std::string(kExamples));
  command.footer(std::string(kPromise));
  auto flags = std::make_shared<ConvertFlags>();
  add_files(command, *flags);
  add_layout_options(command, *flags);
  add_choice_options(command, *flags);
  command.on_parsed([flags, &chosen] {
    chosen = [flags](const Streams& s) { return run_convert(*flags, s); };
  });
}

}  // namespace headwise::cli
