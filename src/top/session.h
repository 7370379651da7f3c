// What `podgpu top` knows, asks and shows, without the terminal: the state of its loop.
//
// The loop brings keys, sizes, times and answers; the session says what to ask next and draws.  One
// thread.
#pragma once

#include <optional>
#include <string>

#include "http/client.h"
#include "top/fleet_frame.h"
#include "top/frame.h"
#include "top/link.h"
#include "top/top.h"

namespace podgpu {

class TopSession {
 public:
  TopSession(const TopOptions& options, Clock& clock);

  // A request that is due: the path and its ETag.
  struct Question {
    std::string path, etag;
  };
  std::optional<Question> NextQuestion(Size size);
  void TakeAnswer(const Question& question, StatusOr<HttpAnswer> answer);

  PressResult Press(const KeyPress& key, Size size);
  Canvas Draw(Size size);
  // All rows as text; needs an answer.
  std::string DrawAll(size_t columns);

  bool colour() const { return view_.colour; }
  bool has_answer() const {
    return is_fleet_ ? fleet_.fleet.has_value() : node_.status.has_value();
  }
  const std::string& failure() const { return link_.failure(); }
  // Returns the time at which the loop must look again: a request is due, or a second has passed.
  Instant NextWake() const;

 private:
  std::optional<Question> ExplanationQuestion(Size size);
  Status TakeStatus(const Question& question, const HttpAnswer& answer);
  Status TakeExplanation(const Question& question, const StatusOr<HttpAnswer>& answer);
  bool Stands() const;
  bool LacksParts(Size size) const;
  void RefreshTimes();
  void WithdrawOldValues();
  std::string StatusPath(Size size) const;

  Clock& clock_;
  const bool is_fleet_;
  const bool ascii_;
  TopView view_;
  TopModel node_;
  FleetModel fleet_;
  FleetColumns columns_;
  Link link_;
  std::string status_path_, etag_;  // Path and ETag of the last status.
  Instant status_at_;               // Time at which it was received.
  int64_t node_ms_at_ = 0;          // The server's time at that moment.
  bool is_withdrawn_ = false;       // The values were too old and are removed.
  int since_explained_ = 0;         // Ticks.
  bool wants_status_first_ = true;
  bool shows_explanation_ = false;  // At the size of the newest question.
};

}  // namespace podgpu
