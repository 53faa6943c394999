// Jobs for the tests of `explain`, and the files they read.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "explain/explain_job.h"
#include "headwise/interop/npy.h"
#include "interop/files.h"

namespace headwise::cli {

// A file of zeros and ones, or of numbers below `largest`.
template <class T>
void put_array(const std::string& path, const std::vector<std::size_t>& shape,
               std::size_t largest = 2) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    count *= extent;
  }
  const auto data = std::make_unique<T[]>(count);
  for (std::size_t n = 0; n < count; ++n) {
    data[n] = static_cast<T>((n * 7 + n / 3) % largest);
  }
  std::vector<std::ptrdiff_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] =
        strides[axis] * static_cast<std::ptrdiff_t>(shape[axis]);
  }
  const Status s =
      write_npy(path, AnyView(data.get(), DTypeOf<T>::value, shape, strides));
  ASSERT_TRUE(s) << s.error().message();
}

inline void put_text(const std::string& path, std::string_view text) {
  put_file(path, bytes_of(text));
}

inline ExplainedJob job_of(const ExplainFlags& flags) {
  const auto job = run_job(flags, {});
  EXPECT_TRUE(job) << job.error().message();
  return job ? *job : ExplainedJob{};
}

// Small, so that a job costs nothing.
inline ExplainFlags small() {
  ExplainFlags flags;
  flags.embed_dim = 8;
  flags.num_heads = 2;
  return flags;
}

}  // namespace headwise::cli
