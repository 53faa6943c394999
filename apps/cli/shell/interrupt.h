// Ctrl-C that ends work early instead of the program.
#pragma once

namespace headwise::cli {

// While one exists, the first SIGINT is noted; a second one ends the program as
// always. Once it is gone, a noted one ends the program: what was done until
// then is to be written before. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool noted() const;

 private:
  void (*before_)(int);
};

}  // namespace headwise::cli
