/**
 * Counterpoint's controller and device as a memory of gem5.
 *
 * Requests come in at the port, go to libcounterpoint line by line and are answered when the library says so: a read when its
 * line is decrypted, a write when it has persisted. gem5's backing store stays what cores see; the library has the same bytes
 * encrypted, and what of them survives a power failure.
 */
#ifndef COUNTERPOINT_COUNTERPOINT_MEMORY_HH
#define COUNTERPOINT_COUNTERPOINT_MEMORY_HH

#include <counterpoint.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "mem/abstract_mem.hh"
#include "mem/packet.hh"
#include "mem/port.hh"
#include "params/CounterpointMemory.hh"
#include "sim/eventq.hh"

namespace gem5
{
namespace memory
{

class CounterpointMemory : public AbstractMemory
{
  public:
    using Params = CounterpointMemoryParams;

    explicit CounterpointMemory(const Params &p);
    ~CounterpointMemory() override;

    void init() override;
    void startup() override;
    DrainState drain() override;
    Port &getPort(const std::string &if_name, PortID idx = InvalidPortID) override;

    /**
     * Power fails now: the library drains and boots, and what memory then reads as is written to `path`, byte for byte from the
     * start of the address range. Packets under way are never answered: the simulated machine is off.
     */
    void powerFail(const std::string &path);

    /** The statistics as a JSON document. */
    std::string statistics();

  private:
    static constexpr std::size_t LineBytes = COUNTERPOINT_LINE_BYTES;
    using Line = std::array<uint8_t, LineBytes>;

    class MemoryPort : public ResponsePort
    {
      public:
        MemoryPort(const std::string &name, CounterpointMemory &memory)
            : ResponsePort(name), memory(memory)
        {}

      protected:
        Tick recvAtomic(PacketPtr pkt) override { return memory.recvAtomic(pkt); }
        void recvFunctional(PacketPtr pkt) override { memory.recvFunctional(pkt); }
        bool recvTimingReq(PacketPtr pkt) override { return memory.recvTimingReq(pkt); }
        void recvRespRetry() override { memory.recvRespRetry(); }
        AddrRangeList getAddrRanges() const override { return {memory.getAddrRange()}; }

      private:
        CounterpointMemory &memory;
    };

    /** A write that is accepted only when it has persisted. */
    struct Held
    {
        PacketId packet;
        Addr address;
        bool persisted;
    };

    Tick recvAtomic(PacketPtr pkt);
    void recvFunctional(PacketPtr pkt);
    bool recvTimingReq(PacketPtr pkt);
    void recvRespRetry();

    static void readDone(void *self, uint64_t id, uint64_t address, const uint8_t *bytes, uint64_t time);
    static void writePersisted(void *self, uint64_t id, uint64_t address, uint64_t time);

    bool acceptRead(PacketPtr pkt);
    bool acceptWrite(PacketPtr pkt);
    bool acceptHeld(PacketPtr pkt);
    bool refuse();

    /** Brings the library to the present tick; call-backs run. */
    void advance();
    /** The library has something to do. */
    void wakeUp();
    void scheduleWakeUp();

    /** Turns `pkt` around and queues it as a response, if one is expected. */
    void respond(PacketPtr pkt);
    void sendResponses();

    /** Memory has changed without a timed request: the library is told as soon as it has room. */
    void noteUntimedWrite(PacketPtr pkt);
    void sendUntimedWrites();

    bool holds(PacketPtr pkt) const;
    /** The library's address of the line that holds `address`. */
    Addr lineOf(Addr address) const;
    /** The line at a library address as the backing store has it. */
    const uint8_t *hostLine(Addr line) const;
    void check(int code) const;
    counterpoint_info info() const;
    bool idle() const;

    MemoryPort port;
    counterpoint *library = nullptr;
    const bool holdCleans;
    const bool holdEvictions;
    const Tick atomicLatency;
    const std::string statisticsFile;

    bool started = false;
    bool retryRequest = false;
    bool retryResponse = false;
    uint64_t nextId = 1;
    /** Packets whose answer the library owes, by request number; 0 is the number of requests that nobody waits for. */
    std::unordered_map<uint64_t, PacketPtr> waiting;
    /** Held writes by request number. */
    std::unordered_map<uint64_t, Held> held;
    std::deque<PacketPtr> responses;
    std::deque<Addr> untimedWrites;
    std::unordered_set<Addr> untimedLines;
    /** Packets are not deleted while their sender still looks at them. */
    std::unique_ptr<Packet> pendingDelete;
    EventFunctionWrapper wakeUpEvent;
    EventFunctionWrapper sendResponsesEvent;
};

} // namespace memory
} // namespace gem5

#endif // COUNTERPOINT_COUNTERPOINT_MEMORY_HH
