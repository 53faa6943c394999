#include "interrupt.h"

#include <signal.h>

namespace headwise::cli {
namespace {

volatile sig_atomic_t interrupted = 0;

void note(int signal) {
  interrupted = 1;
  ::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() : before_(::signal(SIGINT, note)) {
  interrupted = 0;
  if (before_ == SIG_IGN) {
    ::signal(SIGINT, SIG_IGN);  // as under nohup
  }
}

Interrupt::~Interrupt() {
  ::signal(SIGINT, before_);
  if (interrupted != 0) {
    ::raise(SIGINT);
  }
}

bool Interrupt::noted() const { return interrupted != 0; }

}  // namespace headwise::cli
