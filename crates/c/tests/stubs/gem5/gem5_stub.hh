// What CounterpointMemory uses of gem5, declared and not defined: enough to compile it, nothing to run.
#ifndef GEM5_STUB_HH
#define GEM5_STUB_HH

#include <cstdint>
#include <functional>
#include <list>
#include <ostream>
#include <string>
#include <vector>

namespace gem5
{

using Tick = uint64_t;
using Addr = uint64_t;
using PacketId = uint64_t;
using PortID = int16_t;
constexpr PortID InvalidPortID = -1;

Tick curTick();

namespace sim_clock { namespace as_int { extern Tick ns; } }

class AddrRange
{
  public:
    bool interleaved() const;
};
using AddrRangeList = std::list<AddrRange>;

class MemCmd
{
  public:
    enum Command { WriteClean, WritebackDirty };
    bool operator==(Command other) const;
};

class Packet
{
  public:
    MemCmd cmd;
    const PacketId id = 0;
    uint32_t headerDelay = 0;
    uint32_t payloadDelay = 0;
    bool cacheResponding() const;
    bool isRead() const;
    bool isWrite() const;
    bool isRequest() const;
    bool isResponse() const;
    bool needsResponse() const;
    Addr getAddr() const;
    unsigned getSize() const;
    void writeData(uint8_t *bytes) const;
    bool trySatisfyFunctional(Packet *other);
    void pushLabel(const std::string &label);
    void popLabel();
};
using PacketPtr = Packet *;

class Port
{
  public:
    virtual ~Port();
    bool isConnected() const;
};

class ResponsePort : public Port
{
  public:
    explicit ResponsePort(const std::string &name, PortID id = InvalidPortID);
    bool sendTimingResp(PacketPtr pkt);
    void sendRetryReq();
    void sendRangeChange() const;

  protected:
    virtual Tick recvAtomic(PacketPtr pkt) = 0;
    virtual void recvFunctional(PacketPtr pkt) = 0;
    virtual bool recvTimingReq(PacketPtr pkt) = 0;
    virtual void recvRespRetry() = 0;
    virtual AddrRangeList getAddrRanges() const = 0;
};

class Event
{
  public:
    bool scheduled() const;
    Tick when() const;
};

class EventFunctionWrapper : public Event
{
  public:
    EventFunctionWrapper(const std::function<void(void)> &callback, const std::string &name);
};

enum class DrainState { Running, Draining, Drained };

class System
{
  public:
    unsigned cacheLineSize() const;
};

class OutputStream
{
  public:
    std::ostream *stream() const;
};

class OutputDirectory
{
  public:
    OutputStream *create(const std::string &name);
    void close(OutputStream *file);
};
extern OutputDirectory simout;

void registerExitCallback(const std::function<void()> &callback);

struct AbstractMemoryParams {};

struct CounterpointMemoryParams : AbstractMemoryParams
{
    std::string design, variant, machine, statistics_file;
    std::vector<std::string> overrides;
    uint64_t seed;
    bool hold_cleans, hold_evictions;
    Tick atomic_latency;
};

namespace memory
{

class AbstractMemory
{
  public:
    explicit AbstractMemory(const AbstractMemoryParams &p);
    virtual ~AbstractMemory();
    virtual void init();
    virtual void startup();
    virtual DrainState drain();
    virtual Port &getPort(const std::string &name, PortID id = InvalidPortID);
    std::string name() const;
    System *system() const;
    AddrRange getAddrRange() const;
    uint8_t *toHostAddr(Addr address) const;
    uint64_t size() const;
    Addr start() const;
    void access(PacketPtr pkt);
    void functionalAccess(PacketPtr pkt);
    void schedule(Event &event, Tick when);
    void reschedule(Event &event, Tick when, bool always = false);
    DrainState drainState() const;
    void signalDrainDone() const;
};

} // namespace memory

template <typename... Arguments>
void stubReport(const char *format, const Arguments &...arguments);

} // namespace gem5

#define fatal_if(condition, ...) ((condition) ? gem5::stubReport(__VA_ARGS__) : (void)0)
#define panic_if(condition, ...) ((condition) ? gem5::stubReport(__VA_ARGS__) : (void)0)
#define DPRINTFS(flag, object, ...) ((void)(object)->name(), gem5::stubReport(__VA_ARGS__))

#endif
