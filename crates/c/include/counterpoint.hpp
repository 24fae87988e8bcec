/*
 * libcounterpoint for C++17: the interface of counterpoint.h with owners, exceptions and functions. Header only.
 *
 *     libcounterpoint::memory memory({.design = "secpm"}, [](const counterpoint_answer &answer) { ... });   // C++20 names
 *     memory.write(0x1000, line, 1);
 *     memory.run();
 *     counterpoint_power_failure failure = memory.crash();
 *
 * Every function does what the function of counterpoint.h with its name does, which says units, limits and when a call is
 * refused. A refused call throws libcounterpoint::error. An exception that leaves the function of answers ends the advance that
 * has called it: it comes out there, once the call of C is over. A memory is moved, not copied; clone() copies it.
 */
#ifndef COUNTERPOINT_HPP
#define COUNTERPOINT_HPP

#include "counterpoint.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace libcounterpoint
{

/* A refused call: the sentence and the code. */
class error : public std::runtime_error
{
public:
    explicit error(int code) : std::runtime_error(counterpoint_last_error()), number(code) {}
    /* COUNTERPOINT_ERROR_ARGUMENT, ... */
    int code() const noexcept { return number; }

private:
    int number;
};

/* The 64 bytes of a line. */
using line_bytes = std::array<std::uint8_t, COUNTERPOINT_LINE_BYTES>;

/* The settings of a memory; empty texts: the defaults of counterpoint_config. The seed is that of the command, 1; a zeroed
   counterpoint_config has 0. */
struct config {
    std::string design = "secpm";
    std::string variant{};
    std::string machine{};
    std::vector<std::string> set{};
    std::uint64_t seed = 1;
    std::uint32_t reads_on_channel = 0;
    std::uint32_t writes_on_channel = 0;
};

/* A memory. */
class memory
{
public:
    using answered = std::function<void(const counterpoint_answer &)>;

    explicit memory(const config &settings, answered function = {}) : calls(std::make_unique<callee>())
    {
        calls->function = std::move(function);
        std::vector<const char *> set;
        for (const std::string &text : settings.set)
            set.push_back(text.c_str());
        const auto text = [](const std::string &value) { return value.empty() ? nullptr : value.c_str(); };
        counterpoint_config chosen{};
        chosen.size = sizeof chosen;
        chosen.design = settings.design.c_str();
        chosen.variant = text(settings.variant);
        chosen.machine = text(settings.machine);
        chosen.set = set.data();
        chosen.set_count = set.size();
        chosen.seed = settings.seed;
        chosen.context = calls.get();
        chosen.answered = callee::call;
        chosen.reads_on_channel = settings.reads_on_channel;
        chosen.writes_on_channel = settings.writes_on_channel;
        take(counterpoint_create(&chosen));
    }

    /* A copy that goes on from the same state, with `function` for its answers. */
    memory clone(answered function = {}) const
    {
        memory copy;
        copy.calls->function = std::move(function);
        copy.take(counterpoint_clone(get(), copy.calls.get()));
        return copy;
    }

    /* The memory of the C interface; it stays this object's. */
    counterpoint *get() const noexcept { return handle.get(); }

    void restore(const memory &snapshot) { check(counterpoint_restore(get(), snapshot.get())); }

    void load(std::uint64_t address, const void *bytes, std::size_t length)
    {
        check(counterpoint_load(get(), address, static_cast<const std::uint8_t *>(bytes), length));
    }

    void store(std::uint64_t address, const void *bytes, std::size_t length)
    {
        check(counterpoint_store(get(), address, static_cast<const std::uint8_t *>(bytes), length));
    }

    bool can_accept(int kind) const { return checked(counterpoint_can_accept(get(), kind)) == 1; }
    bool can_accept(int kind, std::uint64_t address) const
    {
        return checked(counterpoint_can_accept_at(get(), kind, address)) == 1;
    }

    void send(const counterpoint_request &request) { check(counterpoint_send(get(), &request)); }

    void read(std::uint64_t address, std::uint64_t id = 0, std::uint32_t requestor = 0)
    {
        send(request(COUNTERPOINT_READ, address, id, requestor));
    }

    /* The first four are those of counterpoint_send_write. */
    void write(std::uint64_t address, const line_bytes &bytes, std::uint64_t id = 0, std::uint32_t flags = 0,
               std::uint32_t requestor = 0, std::uint64_t mask = 0)
    {
        counterpoint_request sent = request(COUNTERPOINT_WRITE, address, id, requestor);
        sent.bytes = bytes.data();
        sent.mask = mask;
        sent.flags = flags;
        send(sent);
    }

    void counter_writeback(std::uint64_t address, std::uint64_t id = 0, std::uint32_t requestor = 0)
    {
        send(request(COUNTERPOINT_COUNTER_WRITEBACK, address, id, requestor));
    }

    /* The time of the next event, if there is one. */
    std::optional<std::uint64_t> next_event_time() const
    {
        const std::uint64_t next = counterpoint_next_event_time(get());
        return next == COUNTERPOINT_NEVER ? std::nullopt : std::optional<std::uint64_t>(next);
    }

    void advance(std::uint64_t time) { over(counterpoint_advance(get(), time)); }
    void tick() { over(counterpoint_tick(get())); }

    /* Advances until no event is left. */
    void run()
    {
        while (const auto next = next_event_time())
            advance(*next);
    }

    counterpoint_info info() const { return filled<counterpoint_info>(counterpoint_get_info); }
    std::string configuration() const { return text(counterpoint_configuration(get())); }

    counterpoint_location locate(std::uint64_t address) const
    {
        return filled<counterpoint_location>(
            [address](counterpoint *memory, counterpoint_location *found) { return counterpoint_locate(memory, address, found); });
    }

    line_bytes peek(std::uint64_t address) const
    {
        line_bytes bytes;
        check(counterpoint_peek(get(), address, bytes.data()));
        return bytes;
    }

    std::vector<std::uint8_t> peek(std::uint64_t address, std::size_t length) const
    {
        std::vector<std::uint8_t> bytes(length);
        check(counterpoint_peek_range(get(), address, bytes.data(), length));
        return bytes;
    }

    bool can_crash() const { return checked(counterpoint_can_crash(get())) == 1; }

    /* Fails power and restarts; returns what that caused. */
    counterpoint_power_failure crash()
    {
        check(counterpoint_crash(get()));
        return filled<counterpoint_power_failure>(counterpoint_get_power_failure);
    }

    /* The addresses of damaged lines. */
    std::vector<std::uint64_t> damaged() const
    {
        std::size_t count = 0;
        check(counterpoint_get_damaged(get(), nullptr, 0, &count));
        std::vector<std::uint64_t> addresses(count);
        check(counterpoint_get_damaged(get(), addresses.data(), count, &count));
        return addresses;
    }

    void reset_statistics() { check(counterpoint_reset_statistics(get())); }
    std::string statistics() const { return text(counterpoint_statistics(get())); }
    counterpoint_figures figures() const { return filled<counterpoint_figures>(counterpoint_get_figures); }

    counterpoint_requestor requestor(std::uint32_t number) const
    {
        return numbered<counterpoint_requestor>(counterpoint_get_requestor, number);
    }
    counterpoint_bank bank(std::uint32_t number) const { return numbered<counterpoint_bank>(counterpoint_get_bank, number); }
    counterpoint_bank channel(std::uint32_t number) const
    {
        return numbered<counterpoint_bank>(counterpoint_get_channel, number);
    }

private:
    /* What the call-back of C gets: it has an address of its own, so that the memory can move. */
    struct callee {
        answered function;
        std::exception_ptr thrown;

        static void call(void *context, const counterpoint_answer *answer) noexcept
        {
            auto &self = *static_cast<callee *>(context);
            if (!self.function || self.thrown)
                return;
            try {
                self.function(*answer);
            } catch (...) {
                self.thrown = std::current_exception();
            }
        }
    };

    struct destroy {
        void operator()(counterpoint *memory) const noexcept { counterpoint_destroy(memory); }
    };

    memory() : calls(std::make_unique<callee>()) {}

    void take(counterpoint *created)
    {
        if (created == nullptr)
            throw error(COUNTERPOINT_ERROR_ARGUMENT);
        handle.reset(created);
    }

    static int checked(int code)
    {
        if (code < 0)
            throw error(code);
        return code;
    }

    static void check(int code) { (void)checked(code); }

    void over(int code)
    {
        if (const auto thrown = std::exchange(calls->thrown, nullptr))
            std::rethrow_exception(thrown);
        check(code);
    }

    static std::string text(const char *found)
    {
        if (found == nullptr)
            throw error(COUNTERPOINT_ERROR_ARGUMENT);
        return found;
    }

    static counterpoint_request request(std::uint32_t kind, std::uint64_t address, std::uint64_t id, std::uint32_t requestor)
    {
        counterpoint_request made{};
        made.size = sizeof made;
        made.address = address;
        made.id = id;
        made.kind = kind;
        made.requestor = requestor;
        return made;
    }

    template <typename Structure, typename Fill> Structure filled(Fill fill) const
    {
        Structure structure{};
        structure.size = sizeof structure;
        check(fill(get(), &structure));
        return structure;
    }

    template <typename Structure>
    Structure numbered(int (*fill)(counterpoint *, std::uint32_t, Structure *), std::uint32_t number) const
    {
        return filled<Structure>(
            [fill, number](counterpoint *memory, Structure *structure) { return fill(memory, number, structure); });
    }

    /* Before the handle, so that it outlives it. */
    std::unique_ptr<callee> calls;
    std::unique_ptr<counterpoint, destroy> handle;
};

} // namespace libcounterpoint

#endif
