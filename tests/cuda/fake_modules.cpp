// The fake driver's linker and modules.
//
// An image is opaque to the library: a mark, its size, its hash, the compute capability that it was
// linked for, and the tile programs as text, so that it runs in another process as well.
#include <cstring>
#include <regex>

#include "runtime/base/hash.h"
#include "tests/cuda/emulated_kernels.h"
#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

struct ImageHeader {
  char mark[8];
  std::uint64_t bytes;  // all of the image
  std::uint64_t hash;   // of what follows
  int major, minor;
};
constexpr char image_mark[9] = "TWfakeIM";

std::string image_of(const Programs& programs, const FakeDevice& device) {
  std::string body = programs.target + '\0' + (programs.says_registers ? "maxnreg" : "") + '\0';
  for (const auto& [entry, program] : programs.by_entry) body += entry + '\0' + program + '\0';
  ImageHeader header{
      {}, sizeof header + body.size(), Hasher().add(body).finish().low, device.major, device.minor};
  std::memcpy(header.mark, image_mark, sizeof header.mark);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

Result read_image(const char* image, const FakeDevice& device, Programs* programs) {
  ImageHeader header;
  std::memcpy(&header, image, sizeof header);
  std::string_view body(image + sizeof header, header.bytes - sizeof header);
  if (Hasher().add(body).finish().low != header.hash) return invalid_image;
  if (header.major != device.major || header.minor > device.minor) return Result::no_binary_for_gpu;
  auto next = [&body] {
    std::string part(body.substr(0, body.find('\0')));
    body.remove_prefix(part.size() + 1);
    return part;
  };
  programs->target = next();
  programs->says_registers = !next().empty();
  while (!body.empty()) {
    std::string entry = next();
    programs->by_entry[entry] = next();
  }
  return Result::success;
}

// The version of PTX that a version of CUDA knows at most, 87 for 8.7.
int ptx_version_of(int cuda_version) {
  int major = cuda_version / 1000, minor = cuda_version % 1000 / 10;
  return (major - 4) * 10 + (major == 12 && minor > 5 ? minor - 1 : minor);
}

// An assembler that looks at the directives, and knows the rest.
Result assemble(const std::string& ptx, const State& s, const FakeDevice& device,
                Programs* programs, std::string* log) {
  static const std::regex version(R"(\.version\s+(\d+)\.(\d+))"),
      target(R"(\.target\s+sm_(\d+)(a?))"), entry(R"(\.entry\s+(\w+)\s*\()");
  std::smatch found;
  auto refuse = [log](Result result, const std::string& why) {
    *log = "ptxas fatal   : " + why;
    return result;
  };
  if (!std::regex_search(ptx, found, version)) return refuse(Result::invalid_ptx, "no .version");
  int number = std::stoi(found[1]) * 10 + std::stoi(found[2]);
  if (number > ptx_version_of(s.version))
    return refuse(Result::unsupported_ptx_version,
                  "Unsupported .version " + found[1].str() + "." + found[2].str());
  if (!std::regex_search(ptx, found, target)) return refuse(Result::invalid_ptx, "no .target");
  int sm = std::stoi(found[1]), present = device.major * 10 + device.minor;
  if (found[2].length() != 0 ? sm != present : sm > present)
    return refuse(Result::invalid_ptx,
                  concat("SM version sm_", found[1].str(), found[2].str(),
                         " specified by .target is not that of the device, sm_", present));
  programs->says_registers = ptx.find("\n.maxnreg ") != std::string::npos;
  programs->target = concat("sm_", found[1].str(), found[2].str());
  for (std::sregex_iterator i(ptx.begin(), ptx.end(), entry), end; i != end; ++i) {
    std::optional<std::string> program = program_of((*i)[1], sm);
    if (!program)
      return refuse(Result::invalid_ptx,
                    "no tile program of this process became the entry " + (*i)[1].str());
    programs->by_entry[(*i)[1]] = *program;
  }
  return Result::success;
}

bool is_image(const void* data) { return std::memcmp(data, image_mark, 8) == 0; }

Result read_code(const State& s, int device, const void* data, Programs* programs,
                 std::string* log) {
  const FakeDevice& what = s.devices[static_cast<std::size_t>(device)].what;
  auto* text = static_cast<const char*>(data);
  if (std::string_view(text, std::min<std::size_t>(::strnlen(text, 8), 8)).starts_with("//") ||
      text[0] == '\n' || text[0] == '.')
    return assemble(text, s, what, programs, log);
  return is_image(data) ? read_image(text, what, programs) : invalid_image;
}

void take_options(unsigned count, JitOption* options, void** values, Link& link) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == JitOption::error_log) link.log = static_cast<char*>(values[i]);
    if (options[i] == JitOption::error_log_bytes)
      link.log_bytes = reinterpret_cast<std::uintptr_t>(values[i]) & 0xFFFFFFFF;
    if (options[i] == JitOption::info_log) *static_cast<char*>(values[i]) = 0;
  }
}

void tell(const std::string& log, const Link& link) {
  if (link.log == nullptr || link.log_bytes == 0) return;
  std::size_t length = std::min(log.size(), link.log_bytes - 1);
  std::memcpy(link.log, log.data(), length);
  link.log[length] = 0;
}

}  // namespace

Result cuLinkCreate(unsigned count, JitOption* options, void** values, LinkHandle* link) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  auto made = std::make_shared<Link>(Link{device, {}, {}});
  take_options(count, options, values, *made);
  *link = s.links.add(std::move(made));
  return Result::success;
}

Result cuLinkAddData(LinkHandle handle, JitInput type, void* data, std::size_t bytes, const char*,
                     unsigned, JitOption*, void**) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Link> link = s.links.find(handle);
  if (link == nullptr) return invalid_handle;
  if (data == nullptr || bytes == 0 || !link->image.empty()) return Result::invalid_value;
  if (type != JitInput::ptx) return Result::not_supported;
  std::string log;
  Result result = assemble(std::string(static_cast<const char*>(data), bytes), s,
                           s.devices[static_cast<std::size_t>(device)].what, &link->programs, &log);
  tell(log, *link);
  return result;
}

Result cuLinkComplete(LinkHandle handle, void** image, std::size_t* bytes) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Link> link = s.links.find(handle);
  if (link == nullptr) return invalid_handle;
  if (link->programs.by_entry.empty()) return Result::invalid_value;
  link->image = image_of(link->programs, s.devices[static_cast<std::size_t>(link->device)].what);
  *image = link->image.data();
  *bytes = link->image.size();
  return Result::success;
}

// The image goes with it.
Result cuLinkDestroy(LinkHandle link) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context) return result;
  return s.links.remove(link) ? result : invalid_handle;
}

Result cuModuleLoadData(ModuleHandle* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count,
                          JitOption* options, void** values) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (image == nullptr) return Result::invalid_value;
  auto made = std::make_shared<Module>(Module{device, {}, {}});
  std::string log;
  Result result = read_code(s, device, image, &made->programs, &log);
  Link texts{device, {}, {}};
  take_options(count, options, values, texts);
  tell(log, texts);
  if (result != Result::success) return result;
  *module = s.modules.add(std::move(made));
  return Result::success;
}

Result cuModuleUnload(ModuleHandle handle) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context) return result;
  std::shared_ptr<Module> module = s.modules.find(handle);
  if (module == nullptr) return invalid_handle;
  for (const auto& [entry, function] : module->functions) {
    s.functions.find(function)->is_loaded = false;
    s.functions.remove(function);
  }
  s.modules.remove(handle);
  return result;
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle handle, const char* name) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Module> module = s.modules.find(handle);
  if (module == nullptr) return invalid_handle;
  auto program = module->programs.by_entry.find(name);
  if (program == module->programs.by_entry.end()) return Result::not_found;
  auto [known, is_new] = module->functions.try_emplace(name, nullptr);
  if (is_new) {
    auto made = std::make_shared<KernelFunction>();
    made->device = module->device;
    made->local_bytes = module->programs.says_registers ? 0 : s.spilled_bytes;
    made->code = emulated_kernel(name, dsl::target_named(module->programs.target), program->second);
    known->second = s.functions.add(std::move(made));
  }
  *function = known->second;
  return Result::success;
}

}  // namespace tilewright::cuda::fake
