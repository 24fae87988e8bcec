// What CounterpointMemory uses of gem5, small enough to read and whole enough to run: an event queue, packets with gem5's
// commands, a memory with a backing store, a port whose other side is a function of the test.
#ifndef GEM5_STUB_HH
#define GEM5_STUB_HH

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace gem5
{

using Tick = uint64_t;
using Addr = uint64_t;
using PacketId = uint64_t;
using PortID = int16_t;
using RequestorID = uint16_t;
constexpr PortID InvalidPortID = -1;

namespace sim_clock { namespace as_int { inline Tick ns = 1000; } }

class AddrRange
{
  public:
    Addr first = 0, bytes = 0;
    bool interleaved() const { return false; }
};
using AddrRangeList = std::list<AddrRange>;

// Events in the order of their times; equal times in the order of scheduling.
class Event
{
  public:
    virtual ~Event() = default;
    virtual void process() = 0;
    bool scheduled() const { return isScheduled; }
    Tick when() const { return at; }
    bool isScheduled = false;
    Tick at = 0;
};

inline Tick theTick = 0;
inline std::multimap<Tick, Event *> theQueue;
inline Tick curTick() { return theTick; }

inline void
unschedule(Event &event)
{
    for (auto found = theQueue.find(event.at); found != theQueue.end() && found->first == event.at; ++found) {
        if (found->second == &event) {
            theQueue.erase(found);
            break;
        }
    }
    event.isScheduled = false;
}

// Handles all events up to `until`.
inline void
simulate(Tick until)
{
    while (!theQueue.empty() && theQueue.begin()->first <= until) {
        Event *event = theQueue.begin()->second;
        theTick = theQueue.begin()->first;
        theQueue.erase(theQueue.begin());
        event->isScheduled = false;
        event->process();
    }
    theTick = until;
}

class EventFunctionWrapper : public Event
{
  public:
    EventFunctionWrapper(const std::function<void(void)> &callback, const std::string &) : callback(callback) {}
    ~EventFunctionWrapper() override
    {
        if (isScheduled)
            unschedule(*this);
    }
    void process() override { callback(); }

  private:
    std::function<void(void)> callback;
};

class MemCmd
{
  public:
    enum Command
    {
        ReadReq,
        ReadResp,
        WriteReq,
        WriteResp,
        WritebackDirty,
        WritebackClean,
        WriteClean,
        CleanEvict,
        CleanSharedReq,
        CleanSharedResp
    };
    MemCmd(Command command) : command(command) {}
    bool operator==(Command other) const { return command == other; }
    Command command;
};

class Packet
{
  public:
    // As in gem5, the id of a packet is the pointer of its request: another packet may have it later.
    Packet(MemCmd cmd, Addr address, unsigned size, const void *request)
        : cmd(cmd), id(reinterpret_cast<PacketId>(request)), address(address), bytes(size)
    {}

    MemCmd cmd;
    const PacketId id;
    uint32_t headerDelay = 0;
    uint32_t payloadDelay = 0;
    bool isCacheResponding = false;

    bool cacheResponding() const { return isCacheResponding; }
    bool isRead() const { return cmd == MemCmd::ReadReq || cmd == MemCmd::ReadResp; }
    bool isWrite() const
    {
        return cmd == MemCmd::WriteReq || cmd == MemCmd::WriteResp || cmd == MemCmd::WritebackDirty ||
               cmd == MemCmd::WritebackClean || cmd == MemCmd::WriteClean;
    }
    bool isResponse() const
    {
        return cmd == MemCmd::ReadResp || cmd == MemCmd::WriteResp || cmd == MemCmd::CleanSharedResp;
    }
    bool isRequest() const { return !isResponse(); }
    bool needsResponse() const
    {
        return cmd == MemCmd::ReadReq || cmd == MemCmd::WriteReq || cmd == MemCmd::CleanSharedReq;
    }
    bool isCleanEviction() const { return cmd == MemCmd::WritebackClean || cmd == MemCmd::CleanEvict; }
    Addr getAddr() const { return address; }
    unsigned getSize() const { return static_cast<unsigned>(bytes.size()); }
    RequestorID requestorId() const { return 3; }
    void writeData(uint8_t *to) const { std::memcpy(to, bytes.data(), bytes.size()); }
    // A functional read or write meets a packet on its way.
    bool
    trySatisfyFunctional(Packet *other)
    {
        for (unsigned index = 0; index < getSize(); ++index) {
            const Addr at = address + index;
            if (at < other->address || at >= other->address + other->getSize())
                continue;
            auto &theirs = other->bytes[at - other->address];
            if (isWrite())
                theirs = bytes[index];
            else
                bytes[index] = theirs;
        }
        return false;
    }
    void pushLabel(const std::string &) {}
    void popLabel() {}
    void
    makeResponse()
    {
        cmd = cmd == MemCmd::ReadReq    ? MemCmd::ReadResp
              : cmd == MemCmd::WriteReq ? MemCmd::WriteResp
                                        : MemCmd::CleanSharedResp;
    }

    const Addr address;
    std::vector<uint8_t> bytes;
};
using PacketPtr = Packet *;

class Port
{
  public:
    virtual ~Port() = default;
    bool isConnected() const { return true; }
};

class ResponsePort : public Port
{
  public:
    explicit ResponsePort(const std::string &, PortID = InvalidPortID) {}
    bool sendTimingResp(PacketPtr pkt) { return onResponse(pkt); }
    void sendRetryReq() { onRetry(); }
    void sendRangeChange() const {}

    virtual Tick recvAtomic(PacketPtr pkt) = 0;
    virtual void recvFunctional(PacketPtr pkt) = 0;
    virtual bool recvTimingReq(PacketPtr pkt) = 0;
    virtual void recvRespRetry() = 0;
    virtual AddrRangeList getAddrRanges() const = 0;

    // The other side.
    std::function<bool(PacketPtr)> onResponse;
    std::function<void()> onRetry;
};

enum class DrainState { Running, Draining, Drained };

class System
{
  public:
    unsigned cacheLineSize() const { return 64; }
    bool bypassCaches() const { return bypasses; }
    bool bypasses = false;
};
inline System theSystem;

class OutputStream
{
  public:
    std::ostream *stream() { return &text; }
    std::ostringstream text;
};

class OutputDirectory
{
  public:
    OutputStream *
    create(const std::string &name)
    {
        files[name] = std::make_unique<OutputStream>();
        return files[name].get();
    }
    void close(OutputStream *) {}
    std::map<std::string, std::unique_ptr<OutputStream>> files;
};
inline OutputDirectory simout;

inline std::vector<std::function<void()>> exitCallbacks;
inline void registerExitCallback(const std::function<void()> &callback) { exitCallbacks.push_back(callback); }

namespace statistics
{

class Group
{
  public:
    explicit Group(Group *parent, const char * = nullptr)
    {
        if (parent)
            parent->children.push_back(this);
    }
    virtual ~Group() = default;
    virtual void resetStats()
    {
        for (Group *child : children)
            child->resetStats();
    }
    virtual void preDumpStats()
    {
        for (Group *child : children)
            child->preDumpStats();
    }
    // The value of this name, here or below.
    const double *
    find(const std::string &name) const
    {
        if (const auto found = values.find(name); found != values.end())
            return found->second;
        for (const Group *child : children) {
            if (const double *found = child->find(name))
                return found;
        }
        return nullptr;
    }
    std::map<std::string, const double *> values;

  private:
    std::vector<Group *> children;
};

namespace units
{
struct Base {};
struct Count { static const Base *get() { return nullptr; } };
struct Tick { static const Base *get() { return nullptr; } };
struct Joule { static const Base *get() { return nullptr; } };
} // namespace units

class Scalar
{
  public:
    Scalar(Group *parent, const char *name, const units::Base *, const char *) { parent->values[name] = &value; }
    void operator=(double now) { value = now; }
    void operator++() { value += 1; }
    double value = 0;
};

} // namespace statistics

namespace memory { class CounterpointMemory; }

struct AbstractMemoryParams
{
    std::string name = "memory";
    AddrRange range;
    bool null = false;
};

struct CounterpointMemoryParams : AbstractMemoryParams
{
    std::string design = "secpm", variant = "hardened", machine = "small", statistics_file = "counterpoint.json";
    std::vector<std::string> overrides;
    uint64_t seed = 1;
    memory::CounterpointMemory *extends = nullptr;
    bool hold_cleans = true, hold_evictions = false;
    Tick atomic_latency = 100000;
};

namespace memory
{

class AbstractMemory : public statistics::Group
{
  public:
    explicit AbstractMemory(const AbstractMemoryParams &p)
        : statistics::Group(nullptr), itsName(p.name), range(p.range), nothing(p.null), store(p.null ? 0 : p.range.bytes)
    {}
    virtual void init() {}
    virtual void startup() {}
    virtual DrainState drain() { return DrainState::Drained; }
    virtual void drainResume() {}
    virtual Port &getPort(const std::string &, PortID = InvalidPortID) { std::abort(); }
    std::string name() const { return itsName; }
    System *system() const { return &theSystem; }
    AddrRange getAddrRange() const { return range; }
    bool isNull() const { return nothing; }
    uint8_t *toHostAddr(Addr address) const { return const_cast<uint8_t *>(store.data()) + (address - range.first); }
    uint64_t size() const { return range.bytes; }
    Addr start() const { return range.first; }
    void
    access(PacketPtr pkt)
    {
        if (pkt->cacheResponding() || pkt->cmd == MemCmd::CleanEvict)
            return;
        functionalAccess(pkt);
    }
    void
    functionalAccess(PacketPtr pkt)
    {
        if (pkt->isWrite())
            std::memcpy(toHostAddr(pkt->address), pkt->bytes.data(), pkt->bytes.size());
        else if (pkt->isRead())
            std::memcpy(pkt->bytes.data(), toHostAddr(pkt->address), pkt->bytes.size());
        if (pkt->needsResponse())
            pkt->makeResponse();
    }
    void
    schedule(Event &event, Tick when)
    {
        event.at = when;
        event.isScheduled = true;
        theQueue.emplace(when, &event);
    }
    void
    reschedule(Event &event, Tick when, bool = false)
    {
        unschedule(event);
        schedule(event, when);
    }
    DrainState drainState() const { return state; }
    void signalDrainDone() const { state = DrainState::Drained; }
    mutable DrainState state = DrainState::Running;

  private:
    const std::string itsName;
    const AddrRange range;
    const bool nothing;
    std::vector<uint8_t> store;
};

} // namespace memory

// The sentence of a `fatal_if` or `panic_if`, thrown.
struct Stopped
{
    std::string format;
};

template <typename... Arguments>
void
stubReport(const char *format, const Arguments &...)
{
    throw Stopped{format};
}

template <typename... Arguments>
void
stubTrace(const char *, const Arguments &...)
{}

} // namespace gem5

#define fatal_if(condition, ...) ((condition) ? gem5::stubReport(__VA_ARGS__) : (void)0)
#define panic_if(condition, ...) ((condition) ? gem5::stubReport(__VA_ARGS__) : (void)0)
#define DPRINTFS(flag, object, ...) ((void)(object)->name(), gem5::stubTrace(__VA_ARGS__))
#define ADD_STAT(name, ...) name(this, #name, __VA_ARGS__)

#endif
