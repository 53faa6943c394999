"""tools/check_layers.py finds each kind of violation that it is there for."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402

# A small project without a fault.
SOUND = {
    "include/headwise/headwise.h": '#include "headwise/steps/mask.h"\n',
    "include/headwise/io.h": '#include "headwise/interop/npy.h"\n',
    "include/headwise/version.h": "",
    "include/headwise/base/tensor.h": "#include <vector>\n",
    "include/headwise/run/executor.h": '#include "headwise/base/tensor.h"\n',
    "include/headwise/steps/mask.h": '#include "headwise/base/tensor.h"\n',
    "include/headwise/interop/npy.h": "",
    "src/core/base/check.h": '#include "headwise/base/tensor.h"\n',
    "src/core/kernels/gemm.h": "",
    "src/core/kernels/gemm.cc": '#include <hwy/highway.h>\n#include "kernels/gemm.h"\n',
    "src/core/run/tbb_executor.cc": "#include <tbb/task_arena.h>\n",
    "src/core/steps/mask.cc": '#include "kernels/gemm.h"\n#include "base/check.h"\n',
    "src/core/attention/spec.h": '#include "headwise/steps/mask.h"\n',
    "src/core/attention/forward/query_tile.h": '#include "attention/spec.h"\n',
    "src/core/attention/statistics/pool.h": "",
    "src/core/attention/statistics/x.h": '#include "attention/forward/query_tile.h"\n'
    '#include "attention/statistics/pool.h"\n',
    "src/core/attention/backward/kernel.h": '#include "attention/spec.h"\n',
    "src/core/attention/reference/row.h": "",
    "src/view/inspect/trace.cc": '#include "headwise/steps/mask.h"\n',
    "src/files/interop/npz.cc": "#include <zip.h>\n",
    "apps/cli/shell/args.h": "",
    "apps/cli/shell/args.cc": "#include <CLI/CLI.hpp>\n#include <headwise/headwise.h>\n",
    "apps/cli/operation/flags.h": '#include "shell/args.h"\n',
    "apps/cli/run/run_flags.h": '#include "operation/flags.h"\n',
    "apps/cli/view/view_flags.h": '#include "shell/args.h"\n',
    "apps/cli/commands.cc": '#include "run/run_flags.h"\n#include "view/view_flags.h"\n',
}


class CheckLayersTest(unittest.TestCase):
    def check(self, planted):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**SOUND, **planted}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return check_layers.check(root)

    def assert_named(self, path, line, expected):
        """`line` in the file `path` is the one violation, in these words."""
        violations = self.check({path: line + "\n"})
        self.assertEqual(len(violations), 1, violations)
        self.assertIn(f"{path}:1: ", violations[0])
        self.assertIn(expected, violations[0])

    def test_a_sound_project_has_no_violation(self):
        self.assertEqual(self.check({}), [])

    def test_this_project_has_no_violation(self):
        self.assertEqual(check_layers.check(ROOT), [])

    def test_upward_include(self):
        self.assert_named(
            "src/core/base/check.cc", '#include "headwise/steps/mask.h"', "upward"
        )

    def test_upward_include_between_public_headers(self):
        self.assert_named(
            "include/headwise/base/dtype.h",
            '#include "headwise/run/executor.h"',
            "upward",
        )

    def test_sideways_includes(self):
        self.assert_named(
            "src/core/run/pool.cc", '#include "kernels/gemm.h"', "sideways"
        )
        self.assert_named(
            "src/core/kernels/exp2.cc", '#include "headwise/run/executor.h"', "sideways"
        )
        self.assert_named(
            "src/view/inspect/svg.cc", '#include "headwise/interop/npy.h"', "sideways"
        )

    def test_private_header_in_the_command(self):
        for room in ("shell", "operation", "view"):
            self.assert_named(
                f"apps/cli/{room}/x.cc",
                '#include "base/check.h"',
                "the command includes a private header of the library",
            )

    def test_rooms_of_the_command(self):
        self.assert_named(
            "apps/cli/shell/x.cc", '#include "operation/flags.h"', "upward"
        )
        self.assert_named(
            "apps/cli/operation/x.cc", '#include "run/run_flags.h"', "upward"
        )
        self.assert_named(
            "apps/cli/run/x.cc", '#include "view/view_flags.h"', "sideways"
        )
        self.assert_named("src/models/prune/x.cc", '#include "shell/args.h"', "upward")

    def test_io_h_is_for_users_only(self):
        self.assert_named(
            "src/models/prune/prune.cc", "#include <headwise/io.h>", "upward"
        )

    def test_includes_inside_a_divided_room(self):
        for path, line, expected in (
            ("plan.cc", "forward/query_tile.h", "upward: . has rank 0, forward"),
            ("forward/x.cc", "statistics/pool.h", "upward"),
            ("statistics/x.cc", "backward/kernel.h", "sideways"),
            ("forward/x.cc", "reference/row.h", "sideways"),
        ):
            with self.subTest(path=path, line=line):
                self.assert_named(
                    f"src/core/attention/{path}",
                    f'#include "attention/{line}"',
                    expected,
                )

    def test_headwise_h_is_for_users_only(self):
        self.assert_named(
            "src/models/prune/prune.cc", "#include <headwise/headwise.h>", "upward"
        )

    def test_third_party_in_the_wrong_folder(self):
        wrong = "may not include this third party"
        self.assert_named("src/core/steps/softmax.cc", "#include <hwy/base.h>", wrong)
        self.assert_named("src/core/run/pool.cc", "#include <tbb/task_arena.h>", wrong)
        self.assert_named("src/view/inspect/svg.cc", "#include <zip.h>", wrong)

    def test_unknown_third_party(self):
        self.assert_named("apps/cli/x.cc", "#include <boost/any.hpp>", "neither")

    def test_third_party_in_a_public_header(self):
        for header in ("<hwy/base.h>", "<zip.h>", "<boost/any.hpp>"):
            self.assert_named(
                "include/headwise/interop/npz.h",
                f"#include {header}",
                "a public header includes a third party",
            )

    def test_private_header_in_a_public_one(self):
        self.assert_named(
            "include/headwise/steps/heads.h",
            '#include "base/check.h"',
            "a public header includes a private one",
        )

    def test_include_that_cannot_be_read(self):
        self.assert_named("src/core/base/x.cc", "#include HEADER", "preprocessor")

    def test_folder_that_is_no_room(self):
        violations = self.check({"src/utils/x.cc": ""})
        self.assertEqual(violations, ["src/utils/x.cc: in no room of the way"])
        violations = self.check({"src/core/attention/utils/x.cc": ""})
        self.assertEqual(
            violations, ["src/core/attention/utils/x.cc: in no room of the way"]
        )


if __name__ == "__main__":
    unittest.main()
