#include "distribute/link.h"

#include <algorithm>

#include "distribute/rank_error.h"

namespace headwise::inline HEADWISE_ABI {

// What both ends share.
class Link::End : public Communicator::Pending {
 public:
  explicit End(Link& link) : link_(link) {}

  Result<bool> wait(std::chrono::steady_clock::time_point until) override {
    std::unique_lock lock(link_.mutex_);
    link_.changed_.wait_until(
        lock, until, [&] { return result_ || link_.closed_.has_value(); });
    if (result_) {
      return *result_ ? Result<bool>(true) : result_->error();
    }
    return link_.closed_ ? Result<bool>(*link_.closed_) : false;
  }

  // Under the link's lock.
  void end(Status result) { result_ = std::move(result); }

 protected:
  Link& link() { return link_; }

 private:
  Link& link_;
  std::optional<Status> result_;  // none: it has not met the other end
};

class Link::Send final : public End {
 public:
  Send(Link& link, std::span<const std::byte> bytes)
      : End(link), bytes_(bytes) {}
  ~Send() override {
    const std::lock_guard lock(link().mutex_);
    std::erase(link().sends_, this);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

class Link::Receive final : public End {
 public:
  Receive(Link& link, std::span<std::byte> bytes) : End(link), bytes_(bytes) {}
  ~Receive() override {
    const std::lock_guard lock(link().mutex_);
    std::erase(link().receives_, this);
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

void Link::match() {
  if (closed_ || sends_.empty() || receives_.empty()) {
    return;
  }
  Send& send = *sends_.front();
  Receive& receive = *receives_.front();
  sends_.pop_front();
  receives_.pop_front();
  if (send.bytes().size() == receive.bytes().size()) {
    std::ranges::copy(send.bytes(), receive.bytes().begin());
    receive.end(ok());
  } else {
    receive.end(wrong_size(from_, send.bytes().size(), receive.bytes().size()));
  }
  send.end(ok());
  changed_.notify_all();
}

std::unique_ptr<Communicator::Pending> Link::send(
    std::span<const std::byte> bytes) {
  auto send = std::make_unique<Send>(*this, bytes);
  const std::lock_guard lock(mutex_);
  sends_.push_back(send.get());
  match();
  return send;
}

std::unique_ptr<Communicator::Pending> Link::receive(
    std::span<std::byte> bytes) {
  auto receive = std::make_unique<Receive>(*this, bytes);
  const std::lock_guard lock(mutex_);
  receives_.push_back(receive.get());
  match();
  return receive;
}

void Link::close(const Error& reason) {
  const std::lock_guard lock(mutex_);
  if (!closed_) {
    closed_ = reason;
    changed_.notify_all();
  }
}

}  // namespace headwise::inline HEADWISE_ABI
