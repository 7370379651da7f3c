#include "refresh/container_refresher.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kMostAnswerBytes = size_t{10} << 20;
constexpr size_t kMostRequestsAtOnce = 4;
constexpr std::chrono::minutes kAskAgainAfter{1};
constexpr int kGood = 200;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

// Returns the body of a good answer.
StatusOr<std::string_view> BodyOf(const StatusOr<HttpAnswer>& answer) {
  if (!answer.ok()) {
    return answer.status();
  }
  if (answer->status == kForbidden) {
    return absl::PermissionDeniedError(
        "it answers 403; a proxy in front of the runtime must allow GET /containers/json and "
        "/containers/ID/json");
  }
  if (answer->status != kGood) {
    return absl::InternalError(absl::StrFormat("it answers %d", answer->status));
  }
  if (!answer->content_encoding.empty()) {
    return absl::DataLossError("the answer is compressed; a proxy must not do that");
  }
  return std::string_view(answer->body);
}

std::string DescribeContainers(const std::string& socket, size_t running,
                               const RuntimeContainers& containers) {
  std::string text =
      absl::StrFormat("%s lists %s, %d with GPUs", socket, Counted(running, "running container"),
                      containers.containers.size());
  if (!containers.complaints.empty()) {
    absl::StrAppendFormat(&text, "; the details of %d are not known, the first: %s",
                          containers.complaints.size(), containers.complaints.front());
  }
  return text;
}

ContainerFacts NotAskedForContainers(const std::string& socket) {
  ContainerFacts first;
  first.detail = absl::StrFormat("asking %s for the first time", socket);
  return first;
}

}  // namespace

ContainerRefresher::ContainerRefresher(const Files& files, ContainerRefresherOptions options,
                                       Clock& clock, Wakeup& tick)
    : files_(files),
      options_(std::move(options)),
      clock_(clock),
      client_({.deadline = options_.answer_limit, .max_body_bytes = kMostAnswerBytes}),
      publisher_({.message = "container runtime state changed"},
                 NotAskedForContainers(options_.socket), tick) {}

void ContainerRefresher::Run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { client_.Interrupt(); });
  do {
    RefreshOnce(stop);
  } while (clock_.WaitUntil(clock_.Now() + options_.period, stop));
}

void ContainerRefresher::RefreshOnce(const std::stop_token& stop) {
  const Instant limit = clock_.Now() + 2 * options_.answer_limit;
  std::optional<StatusOr<Listed>> listed = List(stop);
  if (!listed) {
    return;
  }
  if (!listed->ok()) {
    Refuse(listed->status());
    return;
  }
  RemoveOwn(**listed);
  ReadDetails(**listed, limit, stop);
  if (!stop.stop_requested()) {
    Accept(**listed);
  }
}

void ContainerRefresher::Ask(const std::string& path,
                             std::function<void(StatusOr<HttpAnswer>)> done) {
  HttpQuestion question;
  question.unix_path = options_.socket;
  question.host = "localhost";
  question.path = path;
  client_.Ask(std::move(question), std::move(done));
}

std::optional<StatusOr<ContainerRefresher::Listed>> ContainerRefresher::List(
    const std::stop_token& stop) {
  // Shared, since after a stop the client keeps the callback longer than this function runs.
  const auto listed = std::make_shared<std::optional<StatusOr<Listed>>>();
  Ask("/containers/json", [listed](const StatusOr<HttpAnswer>& answer) {
    const StatusOr<std::string_view> body = BodyOf(answer);
    *listed = body.ok() ? ParseContainerList(*body) : StatusOr<Listed>(body.status());
  });
  while (!*listed && !stop.stop_requested()) {
    client_.Run(Instant::max());
  }
  return std::move(*listed);
}

void ContainerRefresher::RemoveOwn(Listed& listed) {
  if (!own_hostname_file_) {
    own_hostname_file_ = HostnameFile(files_.Read("/proc/self/mountinfo").value_or(""));
  }
  std::erase_if(listed, [this](const RuntimeContainer& container) {
    return own_hostname_file_->find("/" + container.id + "/") != std::string::npos;
  });
}

ContainerRefresher::Listed ContainerRefresher::WithoutDetails(const Listed& listed) const {
  Listed wanted, again;
  for (const RuntimeContainer& container : listed) {
    const auto known = known_.find(container.id);
    if (known == known_.end()) {
      wanted.push_back(container);
    } else if (!known->second.devices && known->second.ask_again <= clock_.Now()) {
      again.push_back(container);
    }
  }
  wanted.insert(wanted.end(), again.begin(), again.end());
  return wanted;
}

void ContainerRefresher::ReadDetails(const Listed& listed, Instant limit,
                                     const std::stop_token& stop) {
  std::erase_if(known_, [&listed](const auto& known) {
    return std::ranges::find(listed, known.first, &RuntimeContainer::id) == listed.end();
  });
  const Listed wanted = WithoutDetails(listed);
  auto next = wanted.begin();
  do {
    for (; next != wanted.end() && client_.running() < kMostRequestsAtOnce; ++next) {
      if (clock_.Now() >= limit) {
        next = wanted.end();
        break;
      }
      Ask(absl::StrFormat("/containers/%s/json", next->id),
          [this, id = next->id](const StatusOr<HttpAnswer>& answer) { TakeDetails(id, answer); });
    }
    if (client_.running() > 0) {
      client_.Run(Instant::max());
    }
  } while (!stop.stop_requested() && (client_.running() > 0 || next != wanted.end()));
}

// A container may end after the list was made.  One that the next list still has is a fault.
void ContainerRefresher::TakeDetails(const std::string& id, const StatusOr<HttpAnswer>& answer) {
  Known& known = known_[id];
  if (answer.ok() && answer->status == kNotFound && !std::exchange(known.was_missing, true)) {
    return;
  }
  const StatusOr<std::string_view> body = BodyOf(answer);
  StatusOr<std::vector<std::string>> devices =
      body.ok() ? ParseContainerDevices(*body) : StatusOr<std::vector<std::string>>(body.status());
  if (devices.ok()) {
    known = {.devices = *std::move(devices)};
  } else {
    ++failures_;
    known.failure = std::string(devices.status().message());
    known.ask_again = clock_.Now() + kAskAgainAfter;
  }
}

void ContainerRefresher::Accept(const Listed& listed) {
  RuntimeContainers now;
  for (const RuntimeContainer& container : listed) {
    const auto known = known_.find(container.id);
    if (known == known_.end()) {
      now.complaints.push_back(container.name + " was not reached in time");
    } else if (!known->second.failure.empty()) {
      now.complaints.push_back(container.name + ": " + known->second.failure);
    } else if (const auto& devices = known->second.devices; devices && !devices->empty()) {
      now.containers.push_back({container.id, container.name, *devices});
    }
  }
  std::ranges::sort(now.containers, {}, &RuntimeContainer::name);
  std::ranges::sort(now.complaints);
  ContainerFacts next = publisher_.current();
  next.good_at = clock_.Now();
  next.state = now.complaints.empty() ? PartState::kOk : PartState::kDegraded;
  next.cause = absl::StatusCode::kOk;
  next.failures = failures_;
  next.detail = DescribeContainers(options_.socket, listed.size(), now);
  if (next.value == nullptr || *next.value != now) {
    next.value = std::make_shared<const RuntimeContainers>(std::move(now));
  }
  publisher_.Publish(std::move(next));
}

void ContainerRefresher::Refuse(const Status& failure) {
  ContainerFacts next = publisher_.current();
  next.state = next.value != nullptr ? PartState::kDegraded : PartState::kWaiting;
  next.cause = failure.code();
  next.detail = absl::StrFormat(
      "%s: %s. Rows get no new container labels until it gives a list; start the runtime's API, "
      "give podgpu access to the socket, or correct --container-runtime-socket",
      options_.socket, std::string(failure.message()));
  next.failures = ++failures_;
  publisher_.Publish(std::move(next));
}

}  // namespace podgpu
