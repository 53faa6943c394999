#include "interop/mapped_bytes.h"

#include <utility>

#include "interop/mapped_file.h"

namespace headwise::internal::inline HEADWISE_ABI {

Status with_mapped_bytes(InputFile file,
                         FunctionRef<void(std::span<const std::byte>)> use) {
  const auto mapped = MappedFile::map(std::move(file));
  HEADWISE_TRY(mapped);
  use(mapped->bytes());
  return ok();
}

}  // namespace headwise::internal::inline HEADWISE_ABI
