#include "base/foreign_calls.h"

#include <condition_variable>
#include <system_error>
#include <thread>

namespace podgpu {

// One running call. Its thread and the waiting caller share it.
struct ForeignCalls::Flight {
  enum class State : uint8_t { kRunning, kReturned, kWrittenOff };
  Mutex mutex;
  std::condition_variable_any changed;
  State state PODGPU_GUARDED_BY(mutex) = State::kRunning;

  void MoveTo(State next) {
    MutexLock lock(mutex);
    if (state == State::kRunning) {
      state = next;
      changed.notify_all();
    }
  }
  bool IsWrittenOff() {
    MutexLock lock(mutex);
    return state == State::kWrittenOff;
  }
  void AwaitEnd() {
    MutexLock lock(mutex);
    while (state == State::kRunning) {
      changed.wait(mutex);
    }
  }
};

struct ForeignCalls::Shared {
  explicit Shared(ThreadTally process) : tally(std::move(process)) {}
  Mutex mutex;
  std::shared_ptr<Flight> current PODGPU_GUARDED_BY(mutex);
  std::atomic<int> out = 0;
  const ThreadTally tally;
};

ForeignCalls::ForeignCalls(int limit, ThreadTally tally)
    : limit_(limit), shared_(std::make_shared<Shared>(std::move(tally))) {}
ForeignCalls::ForeignCalls(ForeignCalls&&) noexcept = default;
ForeignCalls::~ForeignCalls() = default;

int ForeignCalls::out() const { return shared_->out.load(); }

bool ForeignCalls::RunBody(std::function<void()> call, std::function<void()> late) {
  if (is_exhausted()) {
    return false;
  }
  const auto flight = std::make_shared<Flight>();
  const auto body = [flight, shared = shared_, call = std::move(call), late = std::move(late)] {
    call();
    flight->MoveTo(Flight::State::kReturned);
    if (flight->IsWrittenOff()) {
      late();
      --shared->out;
      --*shared->tally;
    }
  };
  {
    MutexLock lock(shared_->mutex);
    shared_->current = flight;
  }
  std::thread thread;
  try {
    thread = std::thread(body);
  } catch (const std::system_error&) {
    return false;  // The process has no thread left: the same as a call without an answer.
  }
  flight->AwaitEnd();
  {
    MutexLock lock(shared_->mutex);
    shared_->current = nullptr;
  }
  if (flight->IsWrittenOff()) {
    thread.detach();
    return false;
  }
  thread.join();
  return true;
}

bool ForeignCalls::GiveUp() noexcept {
  MutexLock lock(shared_->mutex);
  if (shared_->current == nullptr) {
    return false;
  }
  Flight& flight = *shared_->current;
  MutexLock flight_lock(flight.mutex);
  if (flight.state != Flight::State::kRunning) {
    return false;
  }
  ++shared_->out;
  ++*shared_->tally;
  flight.state = Flight::State::kWrittenOff;
  flight.changed.notify_all();
  return true;
}

}  // namespace podgpu
