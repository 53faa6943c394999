// copy_safetensors IN OUT: reads a file and writes it again, for tests that
// hold both against another library.
#include <cstdio>

#include "headwise/interop/safetensors.h"

namespace {

headwise::Status copy(const std::string& in, const std::string& out) {
  const auto file =
      headwise::open_safetensors(in, headwise::FileAccess::mapped);
  if (!file) {
    return file.error();
  }
  std::map<std::string, headwise::SafetensorsTensor> tensors;
  std::map<std::string, headwise::AnyView> views;
  for (const auto& [name, entry] : file->tensors()) {
    auto tensor = file->tensor(name);
    if (!tensor) {
      return tensor.error();
    }
    views.emplace(name, tensor->view);
    tensors.emplace(name, *std::move(tensor));
  }
  return headwise::write_safetensors(out, views, file->metadata());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("copy_safetensors IN OUT\n", stderr);
    return 2;
  }
  const headwise::Status copied = copy(argv[1], argv[2]);
  if (!copied) {
    std::fprintf(stderr, "%s\n", copied.error().message().c_str());
    return 1;
  }
  return 0;
}
