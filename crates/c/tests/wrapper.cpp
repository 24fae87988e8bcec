// A client in C++ that uses counterpoint.hpp, and every call of counterpoint.h that client.cpp does not use.
#include "counterpoint.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using libcounterpoint::config;
using libcounterpoint::line_bytes;
using libcounterpoint::memory;

static_assert(!std::is_copy_constructible_v<memory> && std::is_nothrow_move_constructible_v<memory>);

[[noreturn]] static void fail(const char *what, int line)
{
    std::fprintf(stderr, "wrapper.cpp:%d: %s (%s)\n", line, what, counterpoint_last_error());
    std::exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

static line_bytes filled(std::uint8_t byte)
{
    line_bytes line;
    line.fill(byte);
    return line;
}

static config small(const char *design)
{
    config settings;
    settings.design = design;
    settings.machine = "small";
    return settings;
}

// What `call` throws.
template <typename Call>
static std::string refused(Call call, int code)
{
    try {
        call();
    } catch (const libcounterpoint::error &error) {
        CHECK(error.code() == code);
        return error.what();
    }
    fail("the call is refused", __LINE__);
}

static bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

static void requests_and_answers()
{
    std::vector<counterpoint_answer> answers;
    std::vector<line_bytes> found;
    memory first(small("secpm"), [&](const counterpoint_answer &answer) {
        CHECK(answer.size == sizeof answer && answer.time >= answer.sent);
        CHECK((answer.bytes != nullptr) == (answer.kind == COUNTERPOINT_READ));
        answers.push_back(answer);
        if (answer.bytes != nullptr) {
            found.emplace_back();
            std::memcpy(found.back().data(), answer.bytes, 64);
        }
    });
    // A moved memory keeps its function.
    memory moved = std::move(first);
    moved.write(4096, filled(7), 11, 0, 2);
    moved.write(4096, filled(9), 12, 0, 2, 0b10);
    moved.counter_writeback(4096, 13);
    moved.run();
    moved.read(4096, 14, 1023);
    moved.run();
    CHECK(answers.size() == 4 && found.size() == 1);
    line_bytes expected = filled(7);
    expected[1] = 9;
    CHECK(found[0] == expected && answers.back().id == 14 && answers.back().requestor == 1023);
    CHECK(answers.back().flags == 0 && answers.back().address == 4096);
    CHECK(moved.requestor(2).writes.count == 2 && moved.requestor(1023).reads.count == 1);
    CHECK(moved.requestor(5).reads.count == 0);
    CHECK(has(refused([&] { moved.read(0, 0, 1024); }, COUNTERPOINT_ERROR_ARGUMENT), "requestor = 1024"));
    CHECK(has(refused([&] { moved.read(7); }, COUNTERPOINT_ERROR_ARGUMENT), "multiple of 64"));
    CHECK(has(refused([&] { memory none(small("secpn")); }, COUNTERPOINT_ERROR_ARGUMENT), "did you mean 'secpm'"));

    const counterpoint_figures figures = moved.figures();
    CHECK(figures.size == sizeof figures && figures.reads.count == 1 && figures.writes.count == 2);
    CHECK(figures.now == moved.info().now && figures.since == 0 && figures.pads > 0 && figures.counter_misses > 0);
    std::uint64_t classes = 0;
    for (const std::uint64_t count : figures.writes.histogram)
        classes += count;
    CHECK(classes == 2 && figures.writes.max <= figures.writes.sum && figures.mean_occupancy >= 0);
    std::uint64_t reads = 0, writes = 0;
    for (std::uint32_t bank = 0; bank < moved.info().banks; ++bank) {
        reads += moved.bank(bank).reads;
        writes += moved.bank(bank).writes;
    }
    CHECK(reads == moved.channel(0).reads && writes == moved.channel(0).writes && reads > 0);
    CHECK(has(refused([&] { moved.bank(99); }, COUNTERPOINT_ERROR_ARGUMENT), "bank = 99"));
    CHECK(has(refused([&] { moved.channel(1); }, COUNTERPOINT_ERROR_ARGUMENT), "channel = 1"));
    const counterpoint_location place = moved.locate(4096);
    CHECK(place.has_counter == 1 && place.line.bank < moved.info().banks);
    CHECK(has(moved.configuration(), "\"design\":\"secpm\"") && has(moved.statistics(), "\"banks\":["));
    moved.reset_statistics();
    CHECK(moved.figures().reads.count == 0 && moved.figures().since == moved.info().now);
    CHECK(std::string(counterpoint_version()) == COUNTERPOINT_VERSION);
}

static void exceptions()
{
    int calls = 0;
    memory throwing(small("secpm"), [&](const counterpoint_answer &) {
        ++calls;
        throw std::runtime_error("of the caller");
    });
    throwing.read(0);
    throwing.read(64);
    bool caught = false;
    try {
        throwing.advance(10000000);
    } catch (const std::runtime_error &error) {
        caught = std::string(error.what()) == "of the caller";
    }
    CHECK(caught && calls == 1 && throwing.info().reads == 0);
    throwing.read(0);
    try {
        throwing.run();
        caught = false;
    } catch (const std::runtime_error &) {
    }
    CHECK(caught && calls == 2);
}

static void copies_and_crashes()
{
    memory original(small("write-back"));
    for (std::uint64_t line = 0; line < 40; ++line) {
        while (!original.can_accept(COUNTERPOINT_WRITE, line * 64))
            original.advance(*original.next_event_time());
        original.write(line * 64, filled(static_cast<std::uint8_t>(line + 1)));
    }
    original.run();
    unsigned damaged_reads = 0;
    memory crashed = original.clone([&](const counterpoint_answer &answer) {
        damaged_reads += answer.flags == COUNTERPOINT_DAMAGED ? 1 : 0;
    });
    CHECK(crashed.can_crash());
    const counterpoint_power_failure failure = crashed.crash();
    CHECK(failure.size == sizeof failure && failure.time == original.info().now && failure.refused == 0);
    const auto damaged = crashed.damaged();
    CHECK(!damaged.empty() && damaged.size() == failure.damaged_lines);
    crashed.read(damaged[0]);
    crashed.run();
    CHECK(damaged_reads == 1);
    std::uint64_t some[2] = {1, 1};
    std::size_t count = 0;
    CHECK(counterpoint_get_damaged(crashed.get(), some, 1, &count) == COUNTERPOINT_OK);
    CHECK(count == damaged.size() && some[0] == damaged[0] && some[1] == 1);
    // The original has lost nothing, and the copy can come back to it.
    CHECK(original.peek(0) == filled(1) && original.info().power_failures == 0);
    crashed.restore(original);
    CHECK(crashed.info().event_digest == original.info().event_digest && crashed.peek(0) == filled(1));
    CHECK(crashed.damaged().empty());
    memory other(small("secpm"));
    CHECK(has(refused([&] { crashed.restore(other); }, COUNTERPOINT_ERROR_ARGUMENT), "another configuration"));
    crashed.restore(crashed);
    counterpoint_power_failure none{};
    none.size = sizeof none;
    CHECK(counterpoint_get_power_failure(other.get(), &none) == COUNTERPOINT_ERROR_STATE);
    memory drains(small("sepencr"));
    CHECK(!drains.can_crash() && has(counterpoint_last_error(), "drains caches"));
    CHECK(has(refused([&] { drains.crash(); }, COUNTERPOINT_ERROR_STATE), "drains caches"));

    memory stored(small("secpm"));
    stored.load(60, "loaded", 6);
    stored.advance(1000);
    stored.store(130, "stored", 6);
    CHECK(std::memcmp(stored.peek(60, 76).data(), "loaded", 6) == 0);
    CHECK(std::memcmp(stored.peek(60, 76).data() + 70, "stored", 6) == 0);
    stored.crash();
    CHECK(std::memcmp(stored.peek(128).data() + 2, "stored", 6) == 0 && stored.peek(1 << 20, 0).empty());
    CHECK(has(refused([&] { stored.peek(stored.info().capacity, 1); }, COUNTERPOINT_ERROR_ARGUMENT), "do not fit"));
    CHECK(has(refused([&] { stored.store(UINT64_MAX, "x", 1); }, COUNTERPOINT_ERROR_ARGUMENT), "do not fit"));
}

static void channels()
{
    config settings = small("secpm");
    settings.set = {"device.channels=2"};
    settings.reads_on_channel = 1;
    memory two(settings);
    std::uint64_t other = 64;
    while (two.locate(other).line.channel == two.locate(0).line.channel)
        other += 64;
    two.read(0);
    CHECK(!two.can_accept(COUNTERPOINT_READ, 0) && two.can_accept(COUNTERPOINT_READ, other));
    CHECK(two.can_accept(COUNTERPOINT_READ));
    CHECK(has(refused([&] { two.read(0); }, COUNTERPOINT_ERROR_FULL), "channel"));
    two.read(other);
    two.run();
}

// Structures of an older and of a newer header.
static void sizes()
{
    counterpoint_config older{};
    older.size = offsetof(counterpoint_config, answered);
    older.design = "secpm";
    older.machine = "small";
    // What lies behind it is not the library's.
    older.answered = [](void *, const counterpoint_answer *) { std::abort(); };
    counterpoint *created = counterpoint_create(&older);
    CHECK(created != nullptr);
    CHECK(counterpoint_send_read(created, 0, 1) == COUNTERPOINT_OK);
    CHECK(counterpoint_advance(created, 100000000) == COUNTERPOINT_OK);
    counterpoint_info info{};
    info.size = offsetof(counterpoint_info, ranks);
    info.ranks = 77;
    CHECK(counterpoint_get_info(created, &info) == COUNTERPOINT_OK && info.ranks == 77 && info.banks == 4);
    CHECK(info.size == offsetof(counterpoint_info, ranks));
    info.size = 8;
    CHECK(counterpoint_get_info(created, &info) == COUNTERPOINT_ERROR_ARGUMENT && has(counterpoint_last_error(), "less than"));
    struct {
        counterpoint_request known;
        std::uint64_t later;
    } newer{};
    newer.known.size = sizeof newer;
    CHECK(counterpoint_send(created, &newer.known) == COUNTERPOINT_OK);
    newer.later = 1;
    CHECK(counterpoint_send(created, &newer.known) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(has(counterpoint_last_error(), "sets a field"));
    newer.known.size = sizeof newer.known;
    newer.known.mask = 1;
    CHECK(counterpoint_send(created, &newer.known) == COUNTERPOINT_ERROR_ARGUMENT);
    newer.known.kind = 3;
    CHECK(counterpoint_send(created, &newer.known) == COUNTERPOINT_ERROR_ARGUMENT && has(counterpoint_last_error(), "kind = "));
    counterpoint_destroy(created);
}

static void null_pointers()
{
    counterpoint *none = nullptr;
    CHECK(counterpoint_clone(none, nullptr) == nullptr && counterpoint_configuration(none) == nullptr);
    const int codes[] = {
        counterpoint_restore(none, none),
        counterpoint_store(none, 0, nullptr, 0),
        counterpoint_can_accept_at(none, 0, 0),
        counterpoint_send(none, nullptr),
        counterpoint_locate(none, 0, nullptr),
        counterpoint_peek_range(none, 0, nullptr, 0),
        counterpoint_can_crash(none),
        counterpoint_get_power_failure(none, nullptr),
        counterpoint_get_damaged(none, nullptr, 0, nullptr),
        counterpoint_reset_statistics(none),
        counterpoint_get_figures(none, nullptr),
        counterpoint_get_requestor(none, 0, nullptr),
        counterpoint_get_bank(none, 0, nullptr),
        counterpoint_get_channel(none, 0, nullptr),
    };
    for (const int code : codes)
        CHECK(code == COUNTERPOINT_ERROR_ARGUMENT);
    memory some(small("secpm"));
    CHECK(counterpoint_send(some.get(), nullptr) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_store(some.get(), 0, nullptr, 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_peek_range(some.get(), 0, nullptr, 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_get_figures(some.get(), nullptr) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_get_damaged(some.get(), nullptr, 1, nullptr) == COUNTERPOINT_ERROR_ARGUMENT);
    std::size_t count = 0;
    CHECK(counterpoint_get_damaged(some.get(), nullptr, 1, &count) == COUNTERPOINT_ERROR_ARGUMENT);
}

int main()
{
    requests_and_answers();
    exceptions();
    copies_and_crashes();
    channels();
    sizes();
    null_pointers();
    std::puts("wrapped");
}
