#include "dsl/launch/full_code.h"

#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>

#include "dsl/codegen/host/codegen.h"
#include "dsl/launch/kept_objects.h"
#include "dsl/passes/pipeline.h"
#include "runtime/background.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/trace.h"

namespace tilewright::dsl {
namespace {

struct Waiting {
  std::weak_ptr<Artifact> kernel;
  ir::Function function;
  Target target;
  std::mutex mutex;  // of the thread that generates the code
  bool is_over = false;

  // Once; a second thread waits for the first.
  void finish(Ground ground) {
    // In the background the turn is waited for outside of the library, where no fork waits for it.
    std::optional<EntryTurn> turn;
    if (ground == Ground::back) turn.emplace(object_turn(identity(), ground));
    InsideLibrary inside;
    std::lock_guard lock(mutex);
    if (is_over) return;
    is_over = true;
    const std::shared_ptr<Artifact> owned = kernel.lock();
    if (!owned) return;
    if (!turn) turn.emplace(object_turn(identity(), ground));
    give_code(*owned);
  }

 private:
  ObjectIdentity identity() const { return {function, ir::content_hash(function), target}; }

  // Another process may have generated it meanwhile.
  HostObject full_object() const {
    const ObjectIdentity full = identity();
    if (std::optional<HostObject> kept = kept_object(full)) return *std::move(kept);
    ir::Function passed = function;
    run_passes(passed, {.target = target});
    HostObject object = generate_host_object(passed, target);
    keep_object(full, object);
    forget_object({function, full.program, target, false, CodeTier::quick});
    return object;
  }

  void give_code(Artifact& owned) const {
    TraceSpan span("compile", function.name + " (full)");
    while_doing({"compile", "compiling kernel", function.name}, [&] {
      const HostObject object = full_object();
      check(object.scratch_bytes == owned.scratch_bytes, "quick and full code differ in scratch");
      const std::shared_ptr<const Artifact> full = load_host_object(function, object);
      owned.full_code = full->code;
      owned.host.store(full->host.load());
    });
  }
};

// Those that wait, the longest first. Never destroyed, as the kernels' table.
class WaitingList {
 public:
  static WaitingList& all() {
    static WaitingList& list = *new WaitingList;
    return list;
  }

  void add(std::shared_ptr<Waiting> kernel) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(kernel));
  }

  void begin() {
    std::lock_guard lock(mutex_);
    // A job may be given up before it begins: in a child after fork, or for want of a thread.
    const bool is_given_up = job_ && job_->wait(0);
    if (waiting_.empty() || (is_running_ && !is_given_up)) return;
    is_running_ = true;
    job_.emplace([this](const std::stop_token& stop) { run(stop); });
  }

  void finish_all() {
    while (const std::shared_ptr<Waiting> next = first()) finish(next, Ground::fore);
  }

  void finish(const Artifact& kernel) {
    const std::shared_ptr<Waiting> found = find(kernel);
    if (!found) return;
    found->finish(Ground::fore);
    remove(found);
  }

  std::shared_ptr<Waiting> find(const Artifact& kernel) {
    std::lock_guard lock(mutex_);
    for (const auto& one : waiting_)
      if (one->kernel.lock().get() == &kernel) return one;
    return nullptr;
  }

  std::int64_t count() {
    std::lock_guard lock(mutex_);
    return std::ssize(waiting_);
  }

 private:
  // A kernel whose code cannot be generated, for want of memory, keeps what it has.
  void finish(const std::shared_ptr<Waiting>& kernel, Ground ground) {
    try {
      kernel->finish(ground);
    } catch (const std::exception&) {
    }
    remove(kernel);
  }

  std::shared_ptr<Waiting> first() {
    std::lock_guard lock(mutex_);
    return waiting_.empty() ? nullptr : waiting_.front();
  }

  void remove(const std::shared_ptr<Waiting>& kernel) {
    std::lock_guard lock(mutex_);
    std::erase(waiting_, kernel);
  }

  void run(const std::stop_token& stop) {
    while (true) {
      std::shared_ptr<Waiting> next;
      {
        std::lock_guard lock(mutex_);
        is_running_ = !waiting_.empty() && !stop.stop_requested();
        if (!is_running_) return;
        next = waiting_.front();
      }
      finish(next, Ground::back);
    }
  }

  std::mutex mutex_;
  std::deque<std::shared_ptr<Waiting>> waiting_;
  bool is_running_ = false;
  std::optional<BackgroundJob> job_;
};

}  // namespace

void await_full_code(const std::shared_ptr<Artifact>& kernel, const ir::Function& function,
                     const Target& target) {
  auto waiting = std::make_shared<Waiting>();
  waiting->kernel = kernel;
  waiting->function = function;
  waiting->target = target;
  WaitingList::all().add(std::move(waiting));
}

void begin_full_code() { WaitingList::all().begin(); }
void finish_full_code(const Artifact& kernel) { WaitingList::all().finish(kernel); }
void finish_full_code() { WaitingList::all().finish_all(); }
std::int64_t awaiting_full_code() { return WaitingList::all().count(); }
bool awaits_full_code(const Artifact& kernel) { return WaitingList::all().find(kernel) != nullptr; }

}  // namespace tilewright::dsl
