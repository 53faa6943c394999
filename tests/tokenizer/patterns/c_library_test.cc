// Oniguruma, too, has functions with the names of <regex.h>. A program that
// links it has those of the C library all the same: the address sanitizer asks
// for that library's regexec() by its version, but for the next regcomp().
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwise {
namespace {

TEST(CLibraryTest, HasTheRegularExpressionsOfThisProgram) {
  for (const char* const name : {"regcomp", "regexec", "regfree", "regerror"}) {
    void* const found = ::dlsym(RTLD_NEXT, name);
    ASSERT_NE(found, nullptr) << name;
    Dl_info info{};
    ASSERT_NE(::dladdr(found, &info), 0) << name;
    EXPECT_THAT(info.dli_fname, testing::HasSubstr("libc.so")) << name;
  }
}

}  // namespace
}  // namespace headwise
