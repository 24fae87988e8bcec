/*
 * Counterpoint's controller and device behind ChampSim's channels, in place of its DRAM.
 *
 * A template over ChampSim's channel, so that nothing here depends on a ChampSim version beyond what README.md lists. ChampSim
 * has no line contents: writes carry the word that it knows, and the rest is zero.
 */
#ifndef COUNTERPOINT_BRIDGE_H
#define COUNTERPOINT_BRIDGE_H

#include <counterpoint.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace counterpoint_champsim
{

// A copy of a bridge is a handle of the same memory: ChampSim copies its memory controller where it collects statistics.
template <typename Channel>
class bridge
{
  using request_type = typename Channel::request_type;
  using response_type = typename Channel::response_type;

  [[noreturn]] static void give_up()
  {
    std::fprintf(stderr, "counterpoint: %s\n", counterpoint_last_error());
    std::exit(2);
  }

  static void check(int code)
  {
    if (code < 0)
      give_up();
  }

  struct waiting_read {
    Channel* channel;
    request_type request;
  };

  struct state {
    counterpoint* memory = nullptr;
    std::unordered_map<uint64_t, waiting_read> waiting;
    uint64_t next_id = 1;
    long answered = 0;
    // What is printed at the end: the statistics of the last measured phase.
    std::string statistics;

    state() = default;
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    ~state()
    {
      report();
      counterpoint_destroy(memory);
    }

    // Once, after ChampSim's own report: to standard output, or into the file COUNTERPOINT_STATISTICS.
    void report() const
    {
      if (statistics.empty())
        return;
      const char* name = setting("COUNTERPOINT_STATISTICS");
      if (name == nullptr) {
        std::puts(statistics.c_str());
        std::fflush(stdout);
        return;
      }
      const std::string unfinished = std::string{name} + ".part";
      std::FILE* file = std::fopen(unfinished.c_str(), "w");
      bool written = file != nullptr && std::fprintf(file, "%s\n", statistics.c_str()) > 0;
      if (file != nullptr)
        written = std::fclose(file) == 0 && written;
      if (!written || std::rename(unfinished.c_str(), name) != 0)
        std::fprintf(stderr, "counterpoint: %s cannot be written\n", name);
    }
  };

  std::shared_ptr<state> held = std::make_shared<state>();

  static const char* setting(const char* name)
  {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  static void answer(void* context, const counterpoint_answer* answer)
  {
    auto& me = *static_cast<state*>(context);
    ++me.answered;
    if (answer->kind != COUNTERPOINT_READ)
      return;
    auto found = me.waiting.find(answer->id);
    if (found == me.waiting.end())
      return;
    if (found->second.request.response_requested)
      found->second.channel->returned.push_back(response_type{found->second.request});
    me.waiting.erase(found);
  }

  // Line addresses; ChampSim's addresses convert to integers explicitly.
  static uint64_t line_of(const request_type& request)
  {
    return request.address.template to<uint64_t>() / COUNTERPOINT_LINE_BYTES * COUNTERPOINT_LINE_BYTES;
  }

  counterpoint_request request_of(const request_type& request, uint32_t kind)
  {
    counterpoint_request sent{};
    sent.size = sizeof sent;
    sent.address = line_of(request);
    sent.id = held->next_id;
    sent.kind = kind;
    // The figures are also told apart by core; what no core asked for counts as core 0.
    sent.requestor = request.cpu < COUNTERPOINT_REQUESTORS_MAX ? request.cpu : 0;
    return sent;
  }

  bool send(const counterpoint_request& request)
  {
    const int code = counterpoint_send(held->memory, &request);
    if (code == COUNTERPOINT_ERROR_FULL)
      return false;
    check(code);
    ++held->next_id;
    return true;
  }

  bool send_read(Channel* channel, const request_type& request)
  {
    const auto sent = request_of(request, COUNTERPOINT_READ);
    if (!send(sent))
      return false;
    held->waiting.emplace(sent.id, waiting_read{channel, request});
    return true;
  }

  bool send_write(const request_type& request)
  {
    std::array<uint8_t, COUNTERPOINT_LINE_BYTES> bytes{};
    const uint64_t word = request.data.template to<uint64_t>();
    std::memcpy(bytes.data(), &word, sizeof word);
    auto sent = request_of(request, COUNTERPOINT_WRITE);
    sent.bytes = bytes.data();
    return send(sent);
  }

  // Takes requests from the front of `queue` while `take` does.
  template <typename Queue, typename Take>
  static void take_front(Queue& queue, Take take)
  {
    while (!queue.empty() && take(queue.front()))
      queue.pop_front();
  }

  static std::vector<std::string> words_of(const char* text)
  {
    std::vector<std::string> words;
    std::string word;
    for (const char* at = text == nullptr ? "" : text;; ++at) {
      if (*at != ' ' && *at != '\0') {
        word += *at;
        continue;
      }
      if (!word.empty())
        words.push_back(word);
      word.clear();
      if (*at == '\0')
        return words;
    }
  }

public:
  // Configuration from the environment: COUNTERPOINT_DESIGN (secpm if unset), COUNTERPOINT_VARIANT, COUNTERPOINT_MACHINE,
  // COUNTERPOINT_SET ("path.to.key=value", several separated by spaces), COUNTERPOINT_STATISTICS (a file).
  bridge()
  {
    const auto words = words_of(setting("COUNTERPOINT_SET"));
    std::vector<const char*> set;
    for (const auto& word : words)
      set.push_back(word.c_str());
    counterpoint_config config{};
    config.size = sizeof config;
    config.design = setting("COUNTERPOINT_DESIGN") != nullptr ? setting("COUNTERPOINT_DESIGN") : "secpm";
    config.variant = setting("COUNTERPOINT_VARIANT");
    config.machine = setting("COUNTERPOINT_MACHINE");
    config.set = set.data();
    config.set_count = set.size();
    config.seed = 1;
    config.context = held.get();
    config.answered = answer;
    held->memory = counterpoint_create(&config);
    if (held->memory == nullptr)
      give_up();
  }

  // Bytes of memory, in whole pages of ChampSim's page allocator.
  uint64_t size() const
  {
    constexpr uint64_t page = 4096;
    counterpoint_info info{};
    info.size = sizeof info;
    check(counterpoint_get_info(held->memory, &info));
    return info.capacity / page * page;
  }

  // One cycle of ChampSim's memory controller at `now_ps`, picoseconds of simulated time: answers what is done, then takes
  // requests from the channels as long as there is room. In warm-up, as in ChampSim, reads are answered at once and writes
  // dropped. Returns how much has happened, for ChampSim's deadlock check, which ends a simulation after 500 cycles without
  // any: a memory in which an event is due is at work, however long a bank takes.
  long operate(const std::vector<Channel*>& channels, uint64_t now_ps, bool warmup)
  {
    held->answered = 0;
    check(counterpoint_advance(held->memory, now_ps));
    long taken = 0;
    for (auto* channel : channels) {
      const auto read = [&](const request_type& request) {
        if (warmup) {
          if (request.response_requested)
            channel->returned.push_back(response_type{request});
        } else if (!send_read(channel, request)) {
          return false;
        }
        ++taken;
        return true;
      };
      take_front(channel->RQ, read);
      take_front(channel->PQ, read);
      take_front(channel->WQ, [&](const request_type& request) {
        if (!warmup && !send_write(request))
          return false;
        ++taken;
        return true;
      });
    }
    const long at_work = counterpoint_next_event_time(held->memory) != COUNTERPOINT_NEVER ? 1 : 0;
    return taken + held->answered + at_work;
  }

  // A phase begins: its statistics start from zero.
  void begin_phase() { check(counterpoint_reset_statistics(held->memory)); }

  // A phase is over for one more core. The statistics that are printed are those up to the last of them, and not of warm-up.
  void end_phase(bool warmup)
  {
    if (!warmup)
      held->statistics = statistics();
  }

  // Statistics as a JSON document, since the phase began.
  std::string statistics() const
  {
    const char* text = counterpoint_statistics(held->memory);
    if (text == nullptr)
      give_up();
    return text;
  }
};

} // namespace counterpoint_champsim

#endif
