// headwise::mpi where it was built without MPI.
#include <gtest/gtest.h>

#include "headwise/distribute/mpi.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

TEST(NoMpiTest, AGroupIsUnsupported) {
  const ErrorParts unsupported{.code = ErrorCode::unsupported,
                               .operation = "mpi_ranks",
                               .given = {"MPI"},
                               .expected = {"-DHEADWISE_MPI=ON"}};
  EXPECT_THAT(mpi_ranks(), HasError(unsupported));
  EXPECT_THAT(mpi_ranks(0), HasError(unsupported));
}

}  // namespace
}  // namespace headwise::testing_support
