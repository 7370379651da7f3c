// The signals that a program takes one after the other on a thread of its choice.
//
// The constructor blocks them for the calling thread and for every thread that it starts later, so
// it is made before the first thread.  A signal then waits until Take.  One thread takes.
#pragma once

#include <csignal>
#include <initializer_list>
#include <poll.h>
#include <sys/signalfd.h>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace podgpu {

class SignalQueue {
 public:
  SignalQueue(std::initializer_list<int> signals) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : signals) {
      sigaddset(&blocked, signal);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    queue_ = FileDescriptor(::signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
    PODGPU_CHECK(queue_.is_open());
  }

  // Readable while a signal waits.
  int descriptor() const { return queue_.get(); }

  // Returns the next signal that waits, and removes it; 0 when there is none.
  int Take() {
    signalfd_siginfo signal{};
    const bool came = ::read(queue_.get(), &signal, sizeof signal) == sizeof signal;
    return came ? static_cast<int>(signal.ssi_signo) : 0;
  }

  // Waits for a signal and takes it.
  int Await() {
    while (true) {
      pollfd wait{.fd = queue_.get(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, -1);
      if (const int signal = Take(); signal != 0) {
        return signal;
      }
    }
  }

 private:
  FileDescriptor queue_;
};

}  // namespace podgpu
