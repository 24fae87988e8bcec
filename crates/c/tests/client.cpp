// A client of libcounterpoint: sends a deterministic trace, loses power, reads back, misuses every function.
//
//     client trace DESIGN REQUESTS      the event digest, as 16 hexadecimal digits
//     client crash DESIGN               "survived"
//     client misuse                     "refused"
#include "counterpoint.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using Line = std::array<uint8_t, COUNTERPOINT_LINE_BYTES>;

constexpr uint64_t kLines = 192;
constexpr uint64_t kSeed = 5;

[[noreturn]] void fail(const char *what, int line) {
    std::fprintf(stderr, "client.cpp:%d: %s (%s)\n", line, what, counterpoint_last_error());
    std::exit(1);
}

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

// The upper half of a linear congruential generator's numbers, the same as in client.rs.
struct Numbers {
    uint64_t state;
    uint64_t below(uint64_t limit) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (state >> 33) % limit;
    }
};

Line pattern(uint64_t line, uint64_t version) {
    Line bytes;
    bytes.fill(static_cast<uint8_t>(line * 31 + version * 7 + 1));
    for (int i = 0; i < 8; ++i) {
        bytes[i] = static_cast<uint8_t>(line >> 8 * i);
        bytes[56 + i] = static_cast<uint8_t>(version >> 8 * i);
    }
    return bytes;
}

struct Client {
    counterpoint *memory = nullptr;
    std::map<uint64_t, uint64_t> expected;      // of reads under way: the version that was newest when they were sent
    std::map<uint64_t, uint64_t> written;       // version of each line that was sent last
    std::map<uint64_t, uint64_t> promised;      // and that has persisted
    uint64_t answers = 0, last_time = 0;
    uint64_t chain = 0;                         // reads that a call-back sends

    static void read_done(void *context, uint64_t id, uint64_t address, const uint8_t *bytes, uint64_t time) {
        auto &client = *static_cast<Client *>(context);
        client.answered(time);
        const auto found = client.expected.find(id);
        if (found != client.expected.end()) {
            // While a read waits for page re-encryption, a later write may overtake it.
            const uint64_t line = address / 64;
            uint64_t version = 0;
            std::memcpy(&version, bytes + 56, 8);
            const Line same = version ? pattern(line, version) : Line{};
            CHECK(std::memcmp(same.data(), bytes, COUNTERPOINT_LINE_BYTES) == 0);
            CHECK(version >= found->second && version <= client.written[line]);
            client.expected.erase(found);
        }
        if (client.chain > 0) {
            --client.chain;
            // A call-back may send, and must not move time or end the memory's life.
            CHECK(counterpoint_send_read(client.memory, address, 0) == COUNTERPOINT_OK);
            CHECK(counterpoint_advance(client.memory, time + 1) == COUNTERPOINT_ERROR_STATE);
            CHECK(counterpoint_tick(client.memory) == COUNTERPOINT_ERROR_STATE);
            CHECK(counterpoint_crash(client.memory) == COUNTERPOINT_ERROR_STATE);
            CHECK(counterpoint_load(client.memory, 0, bytes, 1) == COUNTERPOINT_ERROR_STATE);
            counterpoint_destroy(client.memory);
        }
    }

    // The id of a write is its line and version.
    static void write_persisted(void *context, uint64_t id, uint64_t address, uint64_t time) {
        auto &client = *static_cast<Client *>(context);
        client.answered(time);
        CHECK(address == (id & 0xffffffff) * 64);
        client.promised[id & 0xffffffff] = id >> 32;
    }

    static void counters_persisted(void *context, uint64_t, uint64_t, uint64_t time) {
        static_cast<Client *>(context)->answered(time);
    }

    void answered(uint64_t time) {
        CHECK(time >= last_time);
        last_time = time;
        ++answers;
    }

    counterpoint_config config(const char *design) {
        counterpoint_config config{};
        config.size = sizeof config;
        config.design = design;
        config.machine = "small";
        config.seed = kSeed;
        config.context = this;
        config.read_done = read_done;
        config.write_persisted = write_persisted;
        config.counters_persisted = counters_persisted;
        return config;
    }

    explicit Client(const char *design) {
        const counterpoint_config chosen = config(design);
        memory = counterpoint_create(&chosen);
        CHECK(memory != nullptr);
    }

    ~Client() { counterpoint_destroy(memory); }

    counterpoint_info info() const {
        counterpoint_info info{};
        info.size = sizeof info;
        CHECK(counterpoint_get_info(memory, &info) == COUNTERPOINT_OK);
        return info;
    }

    // One request of the trace, at `at` or when there is room.
    void request(Numbers &numbers, uint64_t number, uint64_t &at) {
        at += numbers.below(60000);
        const uint64_t line = numbers.below(kLines);
        const uint64_t kind = numbers.below(5);
        if (at > info().now) {
            CHECK(counterpoint_advance(memory, at) == COUNTERPOINT_OK);
        }
        const int queue = kind < 3 ? COUNTERPOINT_WRITE : kind == 3 ? COUNTERPOINT_READ : COUNTERPOINT_COUNTER_WRITEBACK;
        while (counterpoint_can_accept(memory, queue) == 0) {
            CHECK(counterpoint_advance(memory, counterpoint_next_event_time(memory)) == COUNTERPOINT_OK);
        }
        at = info().now;
        int sent;
        if (queue == COUNTERPOINT_WRITE) {
            const uint64_t version = number + 1;
            written[line] = version;
            sent = counterpoint_send_write(memory, line * 64, pattern(line, version).data(), version << 32 | line,
                                           kind == 0 ? COUNTERPOINT_COUNTER_ATOMIC : 0);
            // A read sent now would find it, though it has yet to arrive.
            Line found;
            CHECK(counterpoint_peek(memory, line * 64, found.data()) == COUNTERPOINT_OK);
            CHECK(found == pattern(line, version));
        } else if (queue == COUNTERPOINT_READ) {
            expected[number] = written.count(line) ? written[line] : 0;
            sent = counterpoint_send_read(memory, line * 64, number);
        } else {
            sent = counterpoint_send_counter_writeback(memory, line * 64, number);
        }
        CHECK(sent == COUNTERPOINT_OK);
    }

    void finish() {
        for (uint64_t next; (next = counterpoint_next_event_time(memory)) != COUNTERPOINT_NEVER;) {
            CHECK(counterpoint_advance(memory, next) == COUNTERPOINT_OK);
        }
    }
};

void trace(const char *design, uint64_t requests) {
    Client client(design);
    Numbers numbers{3};
    uint64_t at = 0;
    for (uint64_t number = 0; number < requests; ++number) {
        client.request(numbers, number, at);
    }
    client.finish();
    CHECK(client.answers == requests && client.expected.empty());
    for (const auto &[line, version] : client.written) {
        CHECK(client.promised[line] == version);
    }
    const counterpoint_info info = client.info();
    CHECK(info.reads == 0 && info.writes == 0 && info.counter_writebacks == 0);
    char digest[64];
    std::snprintf(digest, sizeof digest, "\"event_digest\":\"%016" PRIx64 "\"", info.event_digest);
    const std::string statistics = counterpoint_statistics(client.memory);
    CHECK(statistics.front() == '{' && statistics.find(digest) != std::string::npos);
    std::printf("%016" PRIx64 "\n", info.event_digest);
}

void crash(const char *design) {
    Client client(design);
    Numbers numbers{7};
    uint64_t at = 0, number = 0;
    for (int life = 0; life < 5; ++life) {
        for (int i = 0; i < 400; ++i) {
            client.request(numbers, number++, at);
        }
        CHECK(client.info().writes > 0 || client.info().reads > 0);
        CHECK(counterpoint_crash(client.memory) == COUNTERPOINT_OK);
        client.expected.clear();
        CHECK(client.info().reads == 0 && client.info().writes == 0);
        // What was promised is there, or something that was sent later; by peeking and by reading.
        for (uint64_t line = 0; line < kLines; ++line) {
            Line found;
            CHECK(counterpoint_peek(client.memory, line * 64, found.data()) == COUNTERPOINT_OK);
            uint64_t version = 0;
            std::memcpy(&version, &found[56], 8);
            CHECK(found == (version ? pattern(line, version) : Line{}));
            CHECK(version >= client.promised[line] && version <= client.written[line]);
            client.promised[line] = client.written[line] = version;
            client.expected[number] = version;
            CHECK(counterpoint_send_read(client.memory, line * 64, number++) == COUNTERPOINT_OK);
            client.finish();
        }
        CHECK(client.expected.empty());
        at = client.info().now;
    }
    std::puts("survived");
}

void misuse() {
    const auto said = [](const char *text) { return std::strstr(counterpoint_last_error(), text) != nullptr; };
    Line line{};
    counterpoint_info info{};

    CHECK(counterpoint_create(nullptr) == nullptr && said("config is a null pointer"));
    counterpoint_config config{};
    CHECK(counterpoint_create(&config) == nullptr && said("counterpoint_config = 0 is less than"));
    config.size = sizeof config;
    CHECK(counterpoint_create(&config) == nullptr && said("config.design is a null pointer"));
    config.design = "secpn";
    CHECK(counterpoint_create(&config) == nullptr && said("did you mean 'secpm'"));
    config.design = "sec\xff";
    CHECK(counterpoint_create(&config) == nullptr && said("UTF-8"));
    config.design = "secpm";
    config.variant = "printed";
    CHECK(counterpoint_create(&config) == nullptr && said("published or hardened"));
    config.variant = nullptr;
    config.machine = "/nowhere/machine.toml";
    CHECK(counterpoint_create(&config) == nullptr && said("cannot be read"));
    config.machine = nullptr;
    config.set_count = 1;
    CHECK(counterpoint_create(&config) == nullptr && said("config.set is a null pointer"));
    const char *set[] = {"device.t_wr_ns=-1"};
    config.set = set;
    CHECK(counterpoint_create(&config) == nullptr && said("t_wr_ns"));
    set[0] = nullptr;
    CHECK(counterpoint_create(&config) == nullptr && said("config.set[0]"));

    counterpoint *none = nullptr;
    counterpoint_destroy(none);
    CHECK(counterpoint_load(none, 0, line.data(), 64) == COUNTERPOINT_ERROR_ARGUMENT && said("null pointer"));
    CHECK(counterpoint_can_accept(none, COUNTERPOINT_READ) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_read(none, 0, 0) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_write(none, 0, line.data(), 0, 0) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_counter_writeback(none, 0, 0) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_next_event_time(none) == COUNTERPOINT_NEVER);
    CHECK(counterpoint_advance(none, 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_tick(none) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_get_info(none, &info) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_peek(none, 0, line.data()) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_crash(none) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_statistics(none) == nullptr);

    Client client("secpm");
    counterpoint *memory = client.memory;
    CHECK(counterpoint_get_info(memory, nullptr) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_get_info(memory, &info) == COUNTERPOINT_ERROR_ARGUMENT && said("counterpoint_info = 0 is less than"));
    info = client.info();
    CHECK(info.line_bytes == 64 && info.clock_period == 2500 && info.burst_cycles == 4 && info.banks == 4);
    CHECK(info.reads_max == 32 && info.writes_max == 4 && info.counter_writebacks_max == 2);
    CHECK(counterpoint_load(memory, 100, nullptr, 0) == COUNTERPOINT_OK);
    CHECK(counterpoint_load(memory, 100, nullptr, 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_load(memory, 100, line.data(), SIZE_MAX) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_load(memory, info.capacity, line.data(), 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_load(memory, 100, reinterpret_cast<const uint8_t *>("loaded"), 6) == COUNTERPOINT_OK);
    CHECK(counterpoint_peek(memory, 64, line.data()) == COUNTERPOINT_OK && std::memcmp(&line[36], "loaded", 6) == 0);
    CHECK(counterpoint_peek(memory, 64, nullptr) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_can_accept(memory, 3) == COUNTERPOINT_ERROR_ARGUMENT && said("kind = 3"));
    CHECK(counterpoint_can_accept(memory, -1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_read(memory, 8, 0) == COUNTERPOINT_ERROR_ARGUMENT && said("multiple of 64"));
    CHECK(counterpoint_send_read(memory, info.capacity, 0) == COUNTERPOINT_ERROR_ARGUMENT && said("beyond"));
    CHECK(counterpoint_send_read(memory, UINT64_MAX - 63, 0) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_write(memory, 0, nullptr, 0, 0) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_send_write(memory, 0, line.data(), 0, 2) == COUNTERPOINT_ERROR_ARGUMENT && said("flags"));
    CHECK(counterpoint_next_event_time(memory) == COUNTERPOINT_NEVER);
    for (uint32_t i = 0; i < info.reads_max; ++i) {
        CHECK(counterpoint_can_accept(memory, COUNTERPOINT_READ) == 1);
        CHECK(counterpoint_send_read(memory, 64, i) == COUNTERPOINT_OK);
    }
    CHECK(counterpoint_can_accept(memory, COUNTERPOINT_READ) == 0);
    CHECK(counterpoint_send_read(memory, 64, 99) == COUNTERPOINT_ERROR_FULL && said("read_queue_entries"));
    CHECK(counterpoint_load(memory, 0, line.data(), 1) == COUNTERPOINT_ERROR_STATE);
    client.chain = 1;
    for (uint32_t i = 0; i < 100000 && client.answers <= info.reads_max; ++i) {
        CHECK(counterpoint_tick(memory) == COUNTERPOINT_OK);
    }
    CHECK(client.answers == info.reads_max + 1 && client.info().now % info.clock_period == 0);
    CHECK(counterpoint_advance(memory, 1) == COUNTERPOINT_ERROR_ARGUMENT && said("is not from now"));
    CHECK(counterpoint_advance(memory, COUNTERPOINT_TIME_MAX + 1) == COUNTERPOINT_ERROR_ARGUMENT);
    CHECK(counterpoint_advance(memory, COUNTERPOINT_TIME_MAX) == COUNTERPOINT_OK);
    CHECK(counterpoint_tick(memory) == COUNTERPOINT_ERROR_ARGUMENT);

    Client drains("sepencr");
    CHECK(counterpoint_crash(drains.memory) == COUNTERPOINT_ERROR_STATE && said("drains caches"));
    std::puts("refused");
}

}  // namespace

int main(int count, char **arguments) {
    const std::string what = count > 1 ? arguments[1] : "";
    if (what == "trace" && count == 4) {
        trace(arguments[2], std::strtoull(arguments[3], nullptr, 10));
    } else if (what == "crash" && count == 3) {
        crash(arguments[2]);
    } else if (what == "misuse") {
        misuse();
    } else {
        std::fprintf(stderr, "client trace DESIGN REQUESTS | crash DESIGN | misuse\n");
        return 2;
    }
    return 0;
}
