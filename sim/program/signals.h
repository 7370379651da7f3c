// Signals as something to poll: SIGINT, SIGTERM and SIGCHLD arrive on a descriptor.
//
// Construct it before any thread starts, so all threads have the signals blocked and none is
// interrupted.  The code that starts a child process gives it an empty mask again.  One per
// process.
#pragma once

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace podgpu::sim {

class Signals {
 public:
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int one : {SIGINT, SIGTERM, SIGCHLD}) {
      sigaddset(&wanted, one);
    }
    pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
    descriptor_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { close(descriptor_); }

  int descriptor() const { return descriptor_; }

  // The next signal; 0 when there is none.
  int Take() const {
    signalfd_siginfo facts{};
    return read(descriptor_, &facts, sizeof facts) == sizeof facts
               ? static_cast<int>(facts.ssi_signo)
               : 0;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace podgpu::sim
