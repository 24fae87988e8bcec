// CounterpointMemory in a small gem5: what caches do that a memory must survive.
#include "counterpoint/counterpoint_memory.hh"

#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

using namespace gem5;
using memory::CounterpointMemory;
using Line = std::array<uint8_t, 64>;

static void
require(bool condition, const std::string &what)
{
    if (!condition) {
        std::cerr << what << "\n";
        std::exit(1);
    }
}

static Line
filled(uint8_t byte)
{
    Line line;
    line.fill(byte);
    return line;
}

// A cache above the memory: it keeps a refused packet until it may offer it again, or drops it because of a snoop.
class Cache
{
  public:
    explicit Cache(CounterpointMemory &memory) : port(static_cast<ResponsePort &>(memory.getPort("port")))
    {
        port.onResponse = [this](PacketPtr pkt) {
            ++answers;
            last = pkt->bytes;
            delete pkt;
            return true;
        };
        port.onRetry = [this] {
            PacketPtr again = refused;
            refused = nullptr;
            if (again)
                send(again);
            else if (next)
                next();
        };
    }

    // Whether the packet was taken.
    bool
    send(PacketPtr pkt)
    {
        if (port.recvTimingReq(pkt))
            return true;
        refused = pkt;
        return false;
    }

    // A snoop takes the refused packet away.
    void
    discard()
    {
        delete refused;
        refused = nullptr;
    }

    static PacketPtr
    packet(MemCmd cmd, Addr address, const Line &bytes, const void *request = nullptr)
    {
        auto *pkt = new Packet(cmd, address, 64, request);
        pkt->bytes.assign(bytes.begin(), bytes.end());
        return pkt;
    }

    static PacketPtr read(Addr address) { return packet(MemCmd::ReadReq, address, filled(0)); }

    ResponsePort &port;
    PacketPtr refused = nullptr;
    std::function<void()> next;
    unsigned answers = 0;
    std::vector<uint8_t> last;
};

static CounterpointMemoryParams
params()
{
    CounterpointMemoryParams p;
    p.range = AddrRange{0, 1 << 20};
    return p;
}

static CounterpointMemoryParams
holdingEvictions()
{
    CounterpointMemoryParams p = params();
    p.hold_evictions = true;
    return p;
}

// A memory that has started, and the cache above it.
struct Machine
{
    explicit Machine(const CounterpointMemoryParams &p = params()) : memory(p), cache(memory)
    {
        memory.init();
        memory.startup();
    }

    CounterpointMemory memory;
    Cache cache;
};

static void
settle(Tick ticks = 100000000)
{
    simulate(curTick() + ticks);
}

static double
figure(CounterpointMemory &memory, const std::string &name)
{
    memory.preDumpStats();
    const double *value = memory.find(name);
    require(value != nullptr, "there is a figure " + name);
    return *value;
}

static std::string folder;

static Line
survived(CounterpointMemory &memory, Addr line, std::string *told = nullptr)
{
    const std::string path = folder + "/image";
    const std::string document = memory.powerFail(path);
    if (told)
        *told = document;
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(line));
    Line bytes{};
    file.read(reinterpret_cast<char *>(bytes.data()), bytes.size());
    require(file.gcount() == 64, "the image has the line");
    return bytes;
}

// Reads and writes of all kinds at random, all of them answered; then memory has the last bytes of every line.
static void
memTest()
{
    Machine machine(holdingEvictions());
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    std::mt19937_64 random(7);
    std::map<Addr, Line> expected;
    unsigned sent = 0, answered = 0;
    const std::function<void()> more = [&] {
        while (sent < 3000 && !cache.refused) {
            const Addr line = random() % 64 * 64;
            const MemCmd::Command kinds[] = {MemCmd::WriteClean, MemCmd::WritebackDirty, MemCmd::WriteReq, MemCmd::ReadReq};
            const auto kind = kinds[random() % 4];
            ++sent;
            if (kind == MemCmd::ReadReq || kind == MemCmd::WriteReq)
                ++answered;
            if (kind != MemCmd::ReadReq)
                expected[line] = filled(static_cast<uint8_t>(random()));
            cache.send(Cache::packet(kind, line, kind == MemCmd::ReadReq ? Line{} : expected[line]));
        }
    };
    cache.next = more;
    while (sent < 3000 || cache.refused) {
        more();
        settle(1000000);
    }
    settle();
    require(cache.answers == answered, "every packet that needs a response got one");
    const Line found = survived(memory, expected.begin()->first);
    require(found == expected.begin()->second, "the last bytes survive");
}

// A snoop takes a refused write-back out of a cache. Its request's memory is used again for another write of the line.
static void
discardedWriteback()
{
    Machine machine(holdingEvictions());
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    const int request = 0;
    require(!cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(1), &request)), "a held write is refused at first");
    cache.discard();
    settle();
    // The line was dirty elsewhere and comes back changed, in a packet with the same id.
    require(!cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(2), &request)), "it is another write: held");
    settle();
    require(!cache.refused, "and taken when it has persisted");
    require(survived(memory, 640) == filled(2), "the bytes of the second write survive, not those of the discarded one");
}

// The same bytes again after something else was written.
static void
heldAndOverwritten()
{
    Machine machine(holdingEvictions());
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(1)));
    cache.discard();
    settle();
    cache.send(Cache::packet(MemCmd::WriteReq, 640, filled(2)));
    settle();
    require(!cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(1))), "an old held write is not this one");
    settle();
    require(survived(memory, 640) == filled(1), "the last write survives");
}

// A functional write while a write of the line is held: the bytes of both survive.
static void
functionalWrite()
{
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::packet(MemCmd::WriteClean, 128, filled(1)));
    Packet functional(MemCmd::WriteReq, 128 + 8, 4, nullptr);
    functional.bytes.assign(4, 9);
    cache.port.recvFunctional(&functional);
    // As in gem5, it also meets the packet in the cache's write buffer.
    Packet again(MemCmd::WriteReq, 128 + 8, 4, nullptr);
    again.bytes.assign(4, 9);
    again.trySatisfyFunctional(cache.refused);
    settle();
    require(!cache.refused, "the held write is taken in the end");
    Line expected = filled(1);
    std::fill(expected.begin() + 8, expected.begin() + 12, 9);
    require(survived(memory, 128) == expected, "the held bytes and the functional ones");
}

// A held write is discarded, the line is written functionally, and then the same bytes come again.
static void
functionalAndTheSameAgain()
{
    Machine machine(holdingEvictions());
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(1)));
    cache.discard();
    settle();
    std::unique_ptr<Packet> functional(Cache::packet(MemCmd::WriteReq, 640, filled(2)));
    cache.port.recvFunctional(functional.get());
    require(!cache.send(Cache::packet(MemCmd::WritebackDirty, 640, filled(1))), "it is a write of its own");
    settle();
    require(survived(memory, 640) == filled(1), "the last write survives");
}

static void
noMemory()
{
    auto p = params();
    p.null = true;
    try {
        CounterpointMemory memory(p);
    } catch (const Stopped &stopped) {
        require(stopped.format.find("null = True") != std::string::npos, stopped.format);
        return;
    }
    require(false, "a memory without bytes is refused");
}

// The figures of the run are there after a power failure, and what the failure did.
static void
figuresAfterPowerFailure()
{
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    for (Addr line = 0; line < 4; ++line) {
        cache.send(Cache::packet(MemCmd::WriteReq, line * 64, filled(3)));
        settle();
    }
    const double writes = figure(memory, "writes");
    std::string told;
    survived(memory, 0, &told);
    require(writes == 4 && figure(memory, "writes") == 4, "stats.txt keeps the figures of before");
    require(told.find("\"damaged_lines\":0") != std::string::npos, told);
    exitCallbacks.back()();
    const std::string document = simout.files.at("counterpoint.json")->text.str();
    require(document.find("\"writes\":{\"count\":4,") != std::string::npos, document);
    require(memory.drain() == DrainState::Drained, "a machine that is off drains at once");
}

static void
resets()
{
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::read(0));
    settle();
    require(figure(memory, "reads") == 1, "a read");
    memory.resetStats();
    require(figure(memory, "reads") == 0 && figure(memory, "dataReads") == 0, "nothing after a reset");
    cache.send(Cache::read(64));
    settle();
    require(figure(memory, "reads") == 1 && figure(memory, "meanReadLatency") > 0, "only what came after it");
}

// Figures begin when the simulation does, also at a tick that is not 0.
static void
restoredLate()
{
    settle(1000000000000);
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::packet(MemCmd::WriteReq, 0, filled(3)));
    settle();
    const std::string document = memory.statistics();
    const auto at = document.find("\"simulated_ns\":");
    require(std::strtod(document.c_str() + at + 15, nullptr) < 1e6, document);
}

static void
cleanEvictions()
{
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    cache.send(Cache::packet(MemCmd::WritebackClean, 0, filled(0)));
    cache.send(Cache::packet(MemCmd::CleanEvict, 64, filled(0)));
    settle();
    require(!cache.refused && figure(memory, "writes") == 0, "memory has these bytes already");
}

// With virtual processors, or without caches, processors use the backing store themselves.
static void
bypassing()
{
    theSystem.bypasses = true;
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    std::memset(memory.toHostAddr(memory.start() + 4096), 5, 64);
    theSystem.bypasses = false;
    memory.drainResume();
    cache.send(Cache::read(0));
    settle();
    std::memset(memory.toHostAddr(memory.start() + 8192), 6, 64);
    theSystem.bypasses = false;
    memory.drainResume();
    require(survived(memory, 4096) == filled(5), "what was written past the memory is there");

    theSystem.bypasses = true;
    Machine another;
    auto &second = another.memory;
    std::memset(second.toHostAddr(second.start() + 640), 7, 64);
    require(survived(second, 640) == filled(7), "also if power fails in that mode");
    theSystem.bypasses = false;
}

// Ten thousand atomic writes are not in the way of the first timed read.
static void
fastForward()
{
    Machine machine;
    auto &memory = machine.memory;
    auto &cache = machine.cache;
    for (Addr line = 0; line < 10000; ++line) {
        std::unique_ptr<Packet> pkt(Cache::packet(MemCmd::WritebackDirty, line * 64, filled(static_cast<uint8_t>(line))));
        require(cache.port.recvAtomic(pkt.get()) == 100000, "the latency of an atomic access");
    }
    require(figure(memory, "untimedStores") == 10000 && figure(memory, "dataWrites") == 0, "without traffic");
    cache.send(Cache::read(640));
    settle(1000000);
    require(cache.answers == 1 && cache.last == std::vector<uint8_t>(64, 10), "read within a microsecond, with its bytes");
    require(memory.drain() == DrainState::Drained, "nothing is left to do");
    require(survived(memory, 9999 * 64) == filled(static_cast<uint8_t>(9999)), "and they survive");
}

// Two ranges with a hole between them are one memory.
static void
twoRanges()
{
    auto p = params();
    CounterpointMemory low(p);
    auto above = params();
    above.range = AddrRange{UINT64_C(1) << 32, 1 << 20};
    above.extends = &low;
    CounterpointMemory high(above);
    std::memset(high.toHostAddr(above.range.first + 64), 8, 64);
    high.init();
    low.init();
    high.startup();
    low.startup();
    Cache first(low), second(high);
    first.send(Cache::packet(MemCmd::WriteReq, 64, filled(1)));
    second.send(Cache::packet(MemCmd::WriteReq, above.range.first + 128, filled(2)));
    second.send(Cache::packet(MemCmd::WriteClean, above.range.first + 192, filled(3)));
    settle();
    require(first.answers == 1 && second.answers == 1 && !second.refused, "each range answers its own");
    require(figure(low, "writes") == 3 && figure(high, "writes") == 0, "the first has the figures of both");
    second.send(Cache::read(above.range.first + 64));
    settle();
    require(second.last == std::vector<uint8_t>(64, 8), "what was loaded above the hole");
    require(survived(low, (1 << 20) + 192) == filled(3), "the image has one range after the other");
    auto small = params();
    small.overrides = {"device.capacity=2MiB"};
    CounterpointMemory tight(small);
    above.extends = &tight;
    CounterpointMemory beyond(above);
    try {
        beyond.init();
    } catch (const Stopped &stopped) {
        require(stopped.format.find("the machine leaves") != std::string::npos, stopped.format);
        return;
    }
    require(false, "ranges that do not fit are refused");
}

int
main(int, char **arguments)
{
    folder = arguments[1];
    const std::pair<const char *, void (*)()> tests[] = {
        {"memTest", memTest},
        {"discardedWriteback", discardedWriteback},
        {"heldAndOverwritten", heldAndOverwritten},
        {"functionalWrite", functionalWrite},
        {"functionalAndTheSameAgain", functionalAndTheSameAgain},
        {"noMemory", noMemory},
        {"figuresAfterPowerFailure", figuresAfterPowerFailure},
        {"resets", resets},
        {"restoredLate", restoredLate},
        {"cleanEvictions", cleanEvictions},
        {"bypassing", bypassing},
        {"fastForward", fastForward},
        {"twoRanges", twoRanges},
    };
    for (const auto &[name, test] : tests) {
        try {
            test();
        } catch (const Stopped &stopped) {
            std::cerr << name << ": " << stopped.format << "\n";
            return 1;
        }
        std::cout << name << "\n";
    }
    return 0;
}
