// Compares passwords with bcrypt hashes on a separate thread.
//
// A hash takes tens of milliseconds by design, so the serving thread never computes one: checks run
// on their own thread, one at a time, and only a few may wait. Results are remembered by a keyed
// digest, never by the password: after one success the same credentials are accepted at once, until
// name, hash or password changes. Wrong guesses have a separate memory, so guessing cannot push out
// the right credentials. Every check takes as long as the most expensive hash of all users, so its
// time does not show which names exist. Everything except the hash belongs to one thread, the
// owner's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "http/credentials.h"

namespace podgpu {

using Users = std::map<std::string, std::string, std::less<>>;  // Name to bcrypt hash.

class PasswordChecker {
 public:
  // Runs its argument later on the owner's thread. Called from any thread.
  using Poster = std::function<void(std::function<void()>)>;

  static constexpr size_t kMostPending = 32;

  explicit PasswordChecker(Poster post);
  PasswordChecker(const PasswordChecker&) = delete;
  PasswordChecker& operator=(const PasswordChecker&) = delete;
  // Waits for the hash that is being computed. Pending checks get no answer.
  ~PasswordChecker() = default;

  // Returns whether `credentials` are right, or nothing when that is not known yet.
  std::optional<bool> Known(const Users& users, const Credentials& credentials) const;

  // Starts a check; `done` is called on the owner's thread. Returns false, without a call, when too
  // many checks wait.
  bool Check(const Users& users, Credentials credentials, std::function<void(bool)> done);

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Task {
    Credentials credentials;
    std::string hash;
    std::vector<std::string> padding;  // Hashed too, only to take the same time.
    bool is_known_user = false;
    Digest digest{};
    std::function<void(bool)> done;
  };

  Digest DigestOf(const Users& users, const Credentials& credentials) const;
  void ComputeFirst();
  void FinishFirst(bool matches);

  const Poster post_;
  Digest secret_{};         // Secret of this process; without it the digests are useless.
  std::deque<Task> tasks_;  // The first is being computed.
  std::map<std::string, Digest, std::less<>> right_;  // The last right digest of each user.
  std::deque<Digest> wrong_;  // Digests of wrong passwords, the newest last.
  std::jthread thread_;       // Last member: it ends before the members that it uses.
};

// Returns hashes that no password matches; with `hash` they cost as much as the most expensive hash
// of `users`.
std::vector<std::string> PaddingFor(const std::string& hash, const Users& users);

// Returns whether `hash` was made from `password`. Takes as long as the hash's cost.
bool MatchesBcrypt(const std::string& password, const std::string& hash);

}  // namespace podgpu
