// The life of the simulated libdcgm in a process: init, engines, connections, and entry to calls.
//
// The vendor's interface is C functions without a context, so there is one Library, never
// destroyed, behind TheLibrary(); it owns every session by its handle.  Every exported function
// with a handle goes through Call(): it refuses calls before init or without a connection, makes
// the engine's round trip, and stops exceptions.  Part of the face: standard library only.  Any
// thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "abi/dcgm.h"
#include "sim/dcgm/faults.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

class Library {
 public:
  // Each returns a dcgmReturn_t.
  int Init();
  // Waits for calls in progress, as the vendor's does.  Stopping an embedded engine takes a second
  // and a half, here too.
  int Shutdown();
  // Writes `handle` only when it starts the engine, not when one already runs.
  int StartEmbedded(abi::dcgmOperationMode_t mode, abi::dcgmHandle_t& handle);
  int StopEmbedded(abi::dcgmHandle_t handle);
  int Connect(const std::string& address, bool is_unix, uint32_t timeout_ms,
              abi::dcgmHandle_t& handle);
  int Disconnect(abi::dcgmHandle_t handle);
  bool initialised();

  // Applies the faults to a call without a handle; a dcgmReturn_t.
  int Meet(std::string_view call);

  // Counts a call as in progress from Enter to Leave.
  int Enter(abi::dcgmHandle_t handle, std::shared_ptr<Session>& session);
  void Leave();

 private:
  enum class Embedded : uint8_t { kNever, kFailed, kRunning, kStopped };

  // Waits for the time that stopping an embedded engine takes, if one runs.
  void AwaitEndOfEmbedded(std::unique_lock<std::mutex>& lock);
  // Opens the node again; null without one.
  std::shared_ptr<RunDirectory> OpenRun();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::shared_ptr<RunDirectory> run_;  // As last opened.
  bool initialised_ = false;
  int calls_ = 0;  // Calls in progress.
  Embedded embedded_ = Embedded::kNever;
  uint64_t next_handle_ = 1;
  std::map<abi::dcgmHandle_t, std::shared_ptr<Session>> sessions_;
};

Library& TheLibrary();

// Runs `body()`, which returns a dcgmReturn_t; an exception becomes a generic error.
template <typename Body>
int Guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return abi::DCGM_ST_GENERIC_ERROR;
  }
}

// Runs `body()` of a call without a handle, unless a fault answers.
template <typename Body>
int CallLibrary(std::string_view name, Body&& body) noexcept {
  return Guarded([&] {
    const int met = TheLibrary().Meet(name);
    return met != abi::DCGM_ST_OK ? met : std::forward<Body>(body)();
  });
}

// Enters the vendor call `name` on `handle` and runs `body(session)`.
template <typename Body>
int CallSession(abi::dcgmHandle_t handle, std::string_view name, const Concern& concern,
                Body&& body) noexcept {
  return Guarded([&] {
    std::shared_ptr<Session> session;
    if (const int refused = TheLibrary().Enter(handle, session); refused != abi::DCGM_ST_OK) {
      return refused;
    }
    const int result = Guarded([&] {
      const int reached = session->Reach(name, concern);
      const int done = reached != abi::DCGM_ST_OK ? reached : body(*session);
      if (done == abi::DCGM_ST_OK) {
        FillStructWithGarbage(*session, name, concern);
      }
      return done;
    });
    session.reset();
    TheLibrary().Leave();
    return result;
  });
}

// The same, with `body(scene)` under the session's lock.
template <typename Body>
int Call(abi::dcgmHandle_t handle, std::string_view name, const Concern& concern,
         Body&& body) noexcept {
  return CallSession(handle, name, concern, [&](Session& session) { return session.With(body); });
}

// A call without a particular object.
template <typename Body>
int Call(abi::dcgmHandle_t handle, std::string_view name, Body&& body) noexcept {
  return Call(handle, name, Concern{}, std::forward<Body>(body));
}

}  // namespace podgpu::sim
