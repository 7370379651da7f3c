#include "http/password_checker.h"

#include <condition_variable>
#include <mutex>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "http/web_config.h"

namespace podgpu {
namespace {

// bcrypt of "secret" and of "other", at the lowest cost.
constexpr std::string_view kSecretSum = "$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
constexpr std::string_view kOtherSum = "$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu";

std::string HashOfSecret(std::string_view version = "$2y") {
  return std::string(version) + std::string(kSecretSum);
}

// Holds the checker's posted work; the test's own thread runs it.
class PostedWork {
 public:
  PasswordChecker::Poster poster() {
    return [this](std::function<void()> work) {
      const std::scoped_lock lock(mutex_);
      works_.push_back(std::move(work));
      arrived_.notify_all();
    };
  }
  // Waits for the next piece of work and runs it.
  void RunOne() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !works_.empty(); });
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> works_;
};

class PasswordCheckerTest : public testing::Test {
 protected:
  // Returns the result of a check that must be computed.
  bool Answer(const Credentials& credentials) {
    EXPECT_EQ(checker_.Known(users_, credentials), std::nullopt) << credentials.user;
    std::optional<bool> answer;
    EXPECT_TRUE(checker_.Check(users_, credentials, [&](bool right) { answer = right; }));
    posted_.RunOne();
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(false);
  }

  Users users_ = {{"alice", HashOfSecret()}, {"bob", "$2b" + std::string(kOtherSum)}};
  PostedWork posted_;
  PasswordChecker checker_{posted_.poster()};
};

TEST(Bcrypt, ComparesEachVersion) {
  for (const std::string_view version : {"$2y", "$2a", "$2b"}) {
    EXPECT_TRUE(MatchesBcrypt("secret", HashOfSecret(version))) << version;
    EXPECT_FALSE(MatchesBcrypt("Secret", HashOfSecret(version))) << version;
    EXPECT_FALSE(MatchesBcrypt("", HashOfSecret(version))) << version;
  }
  EXPECT_FALSE(MatchesBcrypt(std::string("secret\0tail", 11), HashOfSecret()));
}

TEST_F(PasswordCheckerTest, RemembersRightAndWrongPasswords) {
  EXPECT_TRUE(Answer({"alice", "secret"}));
  EXPECT_FALSE(Answer({"alice", "other"}));
  EXPECT_TRUE(Answer({"bob", "other"}));
  EXPECT_EQ(checker_.Known(users_, {"alice", "secret"}), true);
  EXPECT_EQ(checker_.Known(users_, {"alice", "other"}), false);
  EXPECT_EQ(checker_.Known(users_, {"bob", "other"}), true);
  EXPECT_EQ(checker_.Known(users_, {"alicesecret", ""}), std::nullopt);
}

TEST_F(PasswordCheckerTest, ForgetsAResultWhenHashOrUserChanges) {
  EXPECT_TRUE(Answer({"alice", "secret"}));
  users_["alice"] = "$2b" + std::string(kOtherSum);
  EXPECT_FALSE(Answer({"alice", "secret"}));
  users_.erase("alice");
  EXPECT_FALSE(Answer({"alice", "secret"}));
}

TEST_F(PasswordCheckerTest, RefusesUnknownNames) {
  EXPECT_FALSE(Answer({"carol", "secret"}));
  EXPECT_FALSE(Answer({"", ""}));
}

TEST_F(PasswordCheckerTest, EveryNameTakesAsLongAsTheMostExpensiveHash) {
  const auto of_cost = [](int cost) {
    return absl::StrFormat("$2y$%02d%s", cost, kSecretSum.substr(3));
  };
  const Users users = {{"cheap", of_cost(4)}, {"middling", of_cost(7)}, {"dear", of_cost(9)}};
  for (const int cost : {4, 7, 9}) {
    uint64_t rounds = uint64_t{1} << cost;
    for (const std::string& decoy : PaddingFor(of_cost(cost), users)) {
      EXPECT_FALSE(MatchesBcrypt("secret", decoy));
      rounds += uint64_t{1} << BcryptCost(decoy);
    }
    EXPECT_EQ(rounds, uint64_t{1} << 9) << cost;
  }
}

TEST_F(PasswordCheckerTest, ChecksACheapHashNextToAnExpensiveOne) {
  users_["dear"] = "$2b$06" + std::string(53, 'a');
  EXPECT_TRUE(Answer({"alice", "secret"}));
  EXPECT_FALSE(Answer({"alice", "other"}));
  EXPECT_FALSE(Answer({"carol", "secret"}));
}

TEST_F(PasswordCheckerTest, GuessesDoNotEvictRightPasswords) {
  EXPECT_TRUE(Answer({"alice", "secret"}));
  EXPECT_FALSE(Answer({"alice", "first guess"}));
  for (int i = 0; i < 70; ++i) {
    EXPECT_FALSE(Answer({"alice", "guess " + std::to_string(i)}));
  }
  EXPECT_EQ(checker_.Known(users_, {"alice", "secret"}), true);
  EXPECT_EQ(checker_.Known(users_, {"alice", "first guess"}), std::nullopt);
}

TEST_F(PasswordCheckerTest, ComputesOnceForEqualRequests) {
  std::vector<bool> answers;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(
        checker_.Check(users_, {"alice", "secret"}, [&](bool right) { answers.push_back(right); }));
  }
  posted_.RunOne();
  EXPECT_EQ(answers, std::vector<bool>(5, true));
}

TEST_F(PasswordCheckerTest, LimitsTheWaitingChecks) {
  int answers = 0;
  for (size_t i = 0; i < PasswordChecker::kMostPending; ++i) {
    EXPECT_TRUE(checker_.Check(users_, {"alice", std::to_string(i)}, [&](bool) { ++answers; }));
  }
  EXPECT_FALSE(checker_.Check(users_, {"alice", "one more"}, [&](bool) { ++answers; }));
  for (size_t i = 0; i < PasswordChecker::kMostPending; ++i) {
    posted_.RunOne();
  }
  EXPECT_EQ(answers, static_cast<int>(PasswordChecker::kMostPending));
}

TEST_F(PasswordCheckerTest, CanBeDestroyedWhileChecksWait) {
  bool is_called = false;
  {
    PasswordChecker short_lived(posted_.poster());
    short_lived.Check(users_, {"alice", "secret"}, [&](bool) { is_called = true; });
    short_lived.Check(users_, {"alice", "other"}, [&](bool) { is_called = true; });
  }
  EXPECT_FALSE(is_called);
}

}  // namespace
}  // namespace podgpu
