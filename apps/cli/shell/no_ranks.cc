// A command without headwise::ranks works alone.
#include "shell/ranks/rank_job.h"

namespace headwise::cli {

void set_give_up(GiveUp /*give_up*/) {}
std::optional<std::size_t> rank_in_job() { return {}; }
bool failed_together() { return false; }
void tell_others(const Outcome& /*outcome*/) {}
void leave_job(const Outcome& /*outcome*/) {}

}  // namespace headwise::cli
