#include "shell/fold_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shell/aligned_columns.h"

namespace headwise::cli {
namespace {

const std::vector<std::vector<std::string>> kTable = {
    {"layer", "    a", "    b", "    c "},
    {"    0", " 0.10", " 0.20", " 0.30*"}};

TEST(FoldTableTest, OneTableWhereItFits) {
  const std::string whole = "layer    a    b    c\n    0 0.10 0.20 0.30*\n";
  EXPECT_EQ(folded_table(kTable, 21), whole);
  EXPECT_EQ(folded_table(kTable, 1000), whole);
}

TEST(FoldTableTest, OtherColumnsFollowWithTheFirst) {
  EXPECT_EQ(folded_table(kTable, 20),
            "layer    a    b\n    0 0.10 0.20\n\n"
            "layer    c\n    0 0.30*\n");
}

TEST(FoldTableTest, EachPartHasAColumn) {
  EXPECT_EQ(folded_table(kTable, 1),
            "layer    a\n    0 0.10\n\nlayer    b\n    0 0.20\n\n"
            "layer    c\n    0 0.30*\n");
  EXPECT_EQ(folded_table({{"layer"}, {"    0"}}, 80), "layer\n    0\n");
}

TEST(FoldTableTest, AlignedColumnsAreAsWideAsTheirCells) {
  EXPECT_EQ(aligned_columns({{"head", "effect"}, {"0.10", "1"}}),
            "head  effect\n0.10  1\n");
}

}  // namespace
}  // namespace headwise::cli
