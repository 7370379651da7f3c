#include "http/password_checker.h"

#include <algorithm>
#include <crypt.h>
#include <iterator>
#include <memory>
#include <pthread.h>
#include <vector>

#include "absl/strings/str_format.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/status.h"
#include "http/web_config.h"

namespace podgpu {
namespace {

constexpr size_t kRememberedGuesses = 64;

int HighestCost(const Users& users) {
  int cost = 0;
  for (const auto& [name, hash] : users) {
    cost = std::max(cost, BcryptCost(hash));
  }
  return cost;
}

// Returns a hash of this cost that no password matches.
std::string DecoyHash(int cost) {
  return absl::StrFormat("$2b$%02d$%s", cost, std::string(53, '.'));
}

// Joins texts with their lengths, so that different lists never give the same result.
std::string Joined(std::initializer_list<std::string_view> texts) {
  std::string joined;
  for (const std::string_view text : texts) {
    absl::StrAppendFormat(&joined, "%d:%s", text.size(), text);
  }
  return joined;
}

}  // namespace

// A cost is a power of two, and 2^c + 2^c + 2^(c+1) + ... + 2^(h-1) is 2^h.
std::vector<std::string> PaddingFor(const std::string& hash, const Users& users) {
  std::vector<std::string> padding;
  for (int cost = BcryptCost(hash); cost < HighestCost(users); ++cost) {
    padding.push_back(DecoyHash(cost));
  }
  return padding;
}

bool MatchesBcrypt(const std::string& password, const std::string& hash) {
  const auto scratch = std::make_unique<crypt_data>();  // 32 KiB.
  const char* found = ::crypt_r(password.c_str(), hash.c_str(), scratch.get());
  const bool is_same = found != nullptr && AreEqualInConstantTime(found, hash);
  // The library reads up to the first zero byte; a password with more bytes after it is another
  // one.
  return is_same && password.find('\0') == std::string::npos;
}

PasswordChecker::PasswordChecker(Poster post) : post_(std::move(post)) {
  PODGPU_CHECK(RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) == 1);
}

std::optional<bool> PasswordChecker::Known(const Users& users,
                                           const Credentials& credentials) const {
  const Digest digest = DigestOf(users, credentials);
  const auto right = right_.find(credentials.user);
  if (right != right_.end() && right->second == digest) {
    return true;
  }
  if (std::ranges::find(wrong_, digest) != wrong_.end()) {
    return false;
  }
  return std::nullopt;
}

bool PasswordChecker::Check(const Users& users, Credentials credentials,
                            std::function<void(bool)> done) {
  if (tasks_.size() >= kMostPending) {
    return false;
  }
  const auto user = users.find(credentials.user);
  Task task;
  task.is_known_user = user != users.end();
  task.hash = task.is_known_user ? user->second : DecoyHash(HighestCost(users));
  task.padding = PaddingFor(task.hash, users);
  task.digest = DigestOf(users, credentials);
  task.credentials = std::move(credentials);
  task.done = std::move(done);
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    ComputeFirst();
  }
  return true;
}

PasswordChecker::Digest PasswordChecker::DigestOf(const Users& users,
                                                  const Credentials& credentials) const {
  const auto user = users.find(credentials.user);
  const std::string text =
      Joined({credentials.user, user == users.end() ? "" : user->second, credentials.password});
  Digest digest{};
  const unsigned char* const made = HMAC(
      EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
      reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), nullptr);
  PODGPU_CHECK(made != nullptr);
  return digest;
}

void PasswordChecker::ComputeFirst() {
  thread_ = std::jthread([this, password = tasks_.front().credentials.password,
                          hash = tasks_.front().hash, padding = tasks_.front().padding] {
    const bool matches = MatchesBcrypt(password, hash);
    for (const std::string& decoy : padding) {
      MatchesBcrypt(password, decoy);
    }
    post_([this, matches] { FinishFirst(matches); });
  });
  pthread_setname_np(thread_.native_handle(), "password");
}

void PasswordChecker::FinishFirst(bool matches) {
  const Digest digest = tasks_.front().digest;
  const bool is_right = matches && tasks_.front().is_known_user;
  if (is_right) {
    right_[tasks_.front().credentials.user] = digest;
  } else {
    wrong_.push_back(digest);
    if (wrong_.size() > kRememberedGuesses) {
      wrong_.pop_front();
    }
  }
  // Other clients may have sent the same credentials in the meantime.
  const auto same = std::ranges::stable_partition(
      tasks_, [&](const Task& task) { return task.digest != digest; });
  std::vector<Task> answered(std::make_move_iterator(same.begin()),
                             std::make_move_iterator(same.end()));
  tasks_.erase(same.begin(), same.end());
  if (!tasks_.empty()) {
    ComputeFirst();
  }
  for (const Task& task : answered) {
    task.done(is_right);
  }
}

}  // namespace podgpu
