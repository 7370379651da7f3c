// Compares passwords with bcrypt hashes, beside the thread that serves.
//
// A hash costs tens of milliseconds by design, so none is computed where other clients would wait:
// each check runs on a thread of its own, one at a time, and few wait for their turn.  What was
// found is remembered by a keyed digest, never by the password: who was let in once is known at
// once from then on, as long as name, hash and password stay the same.  Wrong guesses have a memory
// of their own, so that no number of them pushes out who was right.  Every check costs what the
// dearest hash of all users costs, so that its time does not tell which names there are.  All of it
// but the hash itself belongs to one thread, the owner's.
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
  // Runs what it is given on the owner's thread, some time later.  Called from any thread.
  using Poster = std::function<void(std::function<void()>)>;

  static constexpr size_t kMostPending = 32;

  explicit PasswordChecker(Poster post);
  PasswordChecker(const PasswordChecker&) = delete;
  PasswordChecker& operator=(const PasswordChecker&) = delete;
  // Waits for the hash that is being computed.  Whoever waits for an answer gets none.
  ~PasswordChecker() = default;

  // Whether `credentials` are right, if that is known already.
  std::optional<bool> Known(const Users& users, const Credentials& credentials) const;

  // Computes it; `done` is called on the owner's thread.  False, and no call, when too many wait.
  bool Check(const Users& users, Credentials credentials, std::function<void(bool)> done);

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Task {
    Credentials credentials;
    std::string hash;
    std::vector<std::string> padding;  // Hashed too, for their time alone.
    bool is_known_user = false;
    Digest digest{};
    std::function<void(bool)> done;
  };

  Digest DigestOf(const Users& users, const Credentials& credentials) const;
  void ComputeFirst();
  void FinishFirst(bool matches);

  const Poster post_;
  Digest secret_{};         // Of this process; makes the digests useless elsewhere.
  std::deque<Task> tasks_;  // The first is being computed.
  std::map<std::string, Digest, std::less<>> right_;  // The last one of each user.
  std::deque<Digest> wrong_;                          // The newest last.
  std::jthread thread_;                               // Last: it ends before what it uses.
};

// Hashes that nothing gives, whose costs and that of `hash` together are the highest of `users`.
std::vector<std::string> PaddingFor(const std::string& hash, const Users& users);

// Whether `password` is the one that `hash` was made of.  Costs what the hash says.
bool MatchesBcrypt(const std::string& password, const std::string& hash);

}  // namespace podgpu
