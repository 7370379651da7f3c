// A thread that can be waited for with a limit.
//
// std::jthread joins without a limit. A thread that may hang inside a foreign library or on a slow
// peer needs one, so that the program can end without it. Start, RequestStop and JoinWithin belong
// to one thread. The destructor asks the thread to stop and joins it, however long that takes.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <pthread.h>
#include <stop_token>
#include <thread>

namespace podgpu {

class Worker {
 public:
  // Runs `body` on a new thread. `name` is its name in `top -H` and /proc; a name longer than 15
  // characters has no effect. Call it once.
  void Start(std::function<void(const std::stop_token&)> body, const char* name = "") {
    std::promise<void> ended;
    ended_ = ended.get_future();
    thread_ = std::jthread(
        [body = std::move(body), ended = std::move(ended)](const std::stop_token& stop) mutable {
          body(stop);
          ended.set_value();
        });
    if (*name != '\0') {
      pthread_setname_np(thread_.native_handle(), name);
    }
  }

  void RequestStop() { thread_.request_stop(); }

  // Joins if the thread ends within `patience`. Returns true also when there is no thread.
  bool JoinWithin(std::chrono::milliseconds patience) {
    if (!thread_.joinable()) {
      return true;
    }
    if (ended_.wait_for(patience) != std::future_status::ready) {
      return false;
    }
    thread_.join();
    return true;
  }

 private:
  std::future<void> ended_;
  std::jthread thread_;
};

}  // namespace podgpu
