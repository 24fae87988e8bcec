#include "counterpoint/counterpoint_memory.hh"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/logging.hh"
#include "base/output.hh"
#include "base/trace.hh"
#include "debug/Counterpoint.hh"
#include "sim/core.hh"
#include "sim/system.hh"

namespace gem5
{
namespace memory
{

CounterpointMemory::CounterpointMemory(const Params &p)
    : AbstractMemory(p), port(name() + ".port", *this), holdCleans(p.hold_cleans), holdEvictions(p.hold_evictions),
      atomicLatency(p.atomic_latency), statisticsFile(p.statistics_file), wakeUpEvent([this] { wakeUp(); }, name()),
      sendResponsesEvent([this] { sendResponses(); }, name())
{
    std::vector<const char *> set;
    for (const std::string &text : p.overrides)
        set.push_back(text.c_str());
    counterpoint_config config{};
    config.size = sizeof config;
    config.design = p.design.c_str();
    config.variant = p.variant.c_str();
    config.machine = p.machine.empty() ? nullptr : p.machine.c_str();
    config.set = set.data();
    config.set_count = set.size();
    config.seed = p.seed;
    config.context = this;
    config.read_done = readDone;
    config.write_persisted = writePersisted;
    library = counterpoint_create(&config);
    fatal_if(!library, "%s: %s", name(), counterpoint_last_error());
    registerExitCallback([this]() {
        OutputStream *file = simout.create(statisticsFile);
        *file->stream() << statistics() << "\n";
        simout.close(file);
    });
}

CounterpointMemory::~CounterpointMemory()
{
    counterpoint_destroy(library);
}

void
CounterpointMemory::init()
{
    AbstractMemory::init();
    fatal_if(!port.isConnected(), "%s is not connected", name());
    fatal_if(system()->cacheLineSize() != LineBytes, "%s: cache lines have %d bytes, not %d", name(),
             system()->cacheLineSize(), LineBytes);
    fatal_if(sim_clock::as_int::ns != 1000, "%s: a tick must be a picosecond", name());
    fatal_if(getAddrRange().interleaved(), "%s: its address range must not be interleaved", name());
    fatal_if(size() > info().capacity, "%s: the range has %d bytes, and the machine leaves %d for data", name(), size(),
             info().capacity);
    port.sendRangeChange();
}

void
CounterpointMemory::startup()
{
    // What the simulated program finds in memory: its own image, or a checkpoint.
    constexpr std::size_t page = 4096;
    const std::array<uint8_t, page> zeros{};
    for (Addr at = 0; at < size(); at += page) {
        const std::size_t length = std::min<Addr>(page, size() - at);
        if (std::memcmp(hostLine(at), zeros.data(), length) != 0)
            check(counterpoint_load(library, at, hostLine(at), length));
    }
    started = true;
}

Addr
CounterpointMemory::lineOf(Addr address) const
{
    return (address - start()) / LineBytes * LineBytes;
}

const uint8_t *
CounterpointMemory::hostLine(Addr line) const
{
    return toHostAddr(start() + line);
}

void
CounterpointMemory::check(int code) const
{
    panic_if(code != COUNTERPOINT_OK, "%s: %s", name(), counterpoint_last_error());
}

counterpoint_info
CounterpointMemory::info() const
{
    counterpoint_info info{};
    info.size = sizeof info;
    check(counterpoint_get_info(library, &info));
    return info;
}

bool
CounterpointMemory::idle() const
{
    const counterpoint_info now = info();
    return now.reads == 0 && now.writes == 0 && responses.empty() && untimedWrites.empty();
}

void
CounterpointMemory::advance()
{
    check(counterpoint_advance(library, curTick()));
}

void
CounterpointMemory::scheduleWakeUp()
{
    const uint64_t next = counterpoint_next_event_time(library);
    if (next == COUNTERPOINT_NEVER)
        return;
    const Tick when = std::max<Tick>(next, curTick());
    if (!wakeUpEvent.scheduled())
        schedule(wakeUpEvent, when);
    else if (when < wakeUpEvent.when())
        reschedule(wakeUpEvent, when);
}

void
CounterpointMemory::wakeUp()
{
    advance();
    sendUntimedWrites();
    const bool room =
        counterpoint_can_accept(library, COUNTERPOINT_READ) == 1 && counterpoint_can_accept(library, COUNTERPOINT_WRITE) == 1;
    const bool persisted =
        std::any_of(held.begin(), held.end(), [](const auto &entry) { return entry.second.persisted; });
    if (retryRequest && (persisted || (held.empty() && room))) {
        retryRequest = false;
        port.sendRetryReq();
    }
    scheduleWakeUp();
    if (drainState() == DrainState::Draining && idle())
        signalDrainDone();
}

bool
CounterpointMemory::refuse()
{
    retryRequest = true;
    scheduleWakeUp();
    return false;
}

bool
CounterpointMemory::holds(PacketPtr pkt) const
{
    if (!pkt->isWrite() || pkt->needsResponse())
        return false;
    return pkt->cmd == MemCmd::WriteClean ? holdCleans : holdEvictions;
}

bool
CounterpointMemory::recvTimingReq(PacketPtr pkt)
{
    // A cache above answers; the packet only passes by.
    if (pkt->cacheResponding()) {
        pendingDelete.reset(pkt);
        return true;
    }
    if (retryRequest)
        return false;
    advance();
    bool accepted = true;
    if (holds(pkt))
        accepted = acceptHeld(pkt);
    else if (pkt->isWrite())
        accepted = acceptWrite(pkt);
    else if (pkt->isRead())
        accepted = acceptRead(pkt);
    else
        respond(pkt);
    scheduleWakeUp();
    return accepted;
}

bool
CounterpointMemory::acceptRead(PacketPtr pkt)
{
    if (counterpoint_can_accept(library, COUNTERPOINT_READ) != 1)
        return refuse();
    const uint64_t id = nextId++;
    waiting.emplace(id, pkt);
    check(counterpoint_send_read(library, lineOf(pkt->getAddr()), id));
    return true;
}

bool
CounterpointMemory::acceptWrite(PacketPtr pkt)
{
    if (counterpoint_can_accept(library, COUNTERPOINT_WRITE) != 1)
        return refuse();
    const Addr line = lineOf(pkt->getAddr());
    panic_if(lineOf(pkt->getAddr() + pkt->getSize() - 1) != line, "%s: a write crosses lines", name());
    const bool answered = pkt->needsResponse();
    // The access decides what is written: a store-conditional may fail, a swap reads first.
    access(pkt);
    const uint64_t id = answered ? nextId++ : 0;
    if (answered)
        waiting.emplace(id, pkt);
    else
        pendingDelete.reset(pkt);
    check(counterpoint_send_write(library, line, hostLine(line), id, 0));
    return true;
}

bool
CounterpointMemory::acceptHeld(PacketPtr pkt)
{
    const auto offered = std::find_if(held.begin(), held.end(), [pkt](const auto &entry) {
        return entry.second.packet == pkt->id && entry.second.address == pkt->getAddr();
    });
    if (offered != held.end()) {
        if (!offered->second.persisted)
            return refuse();
        held.erase(offered);
        access(pkt);
        pendingDelete.reset(pkt);
        return true;
    }
    if (counterpoint_can_accept(library, COUNTERPOINT_WRITE) != 1)
        return refuse();
    const Addr line = lineOf(pkt->getAddr());
    panic_if(lineOf(pkt->getAddr() + pkt->getSize() - 1) != line, "%s: a write crosses lines", name());
    Line bytes;
    std::memcpy(bytes.data(), hostLine(line), LineBytes);
    pkt->writeData(bytes.data() + (pkt->getAddr() - start() - line));
    const uint64_t id = nextId++;
    held.emplace(id, Held{pkt->id, pkt->getAddr(), false});
    check(counterpoint_send_write(library, line, bytes.data(), id, 0));
    return refuse();
}

void
CounterpointMemory::readDone(void *self, uint64_t id, uint64_t, const uint8_t *, uint64_t)
{
    auto &memory = *static_cast<CounterpointMemory *>(self);
    const auto found = memory.waiting.find(id);
    panic_if(found == memory.waiting.end(), "%s: nobody waits for read %d", memory.name(), id);
    PacketPtr pkt = found->second;
    memory.waiting.erase(found);
    memory.access(pkt);
    memory.respond(pkt);
}

void
CounterpointMemory::writePersisted(void *self, uint64_t id, uint64_t address, uint64_t)
{
    auto &memory = *static_cast<CounterpointMemory *>(self);
    DPRINTFS(Counterpoint, &memory, "Line %#x has persisted\n", address);
    if (const auto found = memory.waiting.find(id); found != memory.waiting.end()) {
        PacketPtr pkt = found->second;
        memory.waiting.erase(found);
        memory.respond(pkt);
    } else if (const auto offered = memory.held.find(id); offered != memory.held.end()) {
        offered->second.persisted = true;
    }
}

void
CounterpointMemory::respond(PacketPtr pkt)
{
    if (pkt->isRequest()) {
        const bool answered = pkt->needsResponse();
        access(pkt);
        if (!answered) {
            pendingDelete.reset(pkt);
            return;
        }
    }
    // The crossbar's delay for header and payload is paid here.
    const Tick when = curTick() + pkt->headerDelay + pkt->payloadDelay;
    pkt->headerDelay = pkt->payloadDelay = 0;
    responses.push_back(pkt);
    if (!retryResponse && !sendResponsesEvent.scheduled())
        schedule(sendResponsesEvent, when);
}

void
CounterpointMemory::sendResponses()
{
    while (!responses.empty()) {
        if (!port.sendTimingResp(responses.front())) {
            retryResponse = true;
            return;
        }
        responses.pop_front();
    }
    if (drainState() == DrainState::Draining && idle())
        signalDrainDone();
}

void
CounterpointMemory::recvRespRetry()
{
    retryResponse = false;
    sendResponses();
}

Tick
CounterpointMemory::recvAtomic(PacketPtr pkt)
{
    const bool responding = pkt->cacheResponding();
    noteUntimedWrite(pkt);
    access(pkt);
    return responding ? 0 : atomicLatency;
}

void
CounterpointMemory::recvFunctional(PacketPtr pkt)
{
    pkt->pushLabel(name());
    noteUntimedWrite(pkt);
    functionalAccess(pkt);
    for (PacketPtr response : responses)
        pkt->trySatisfyFunctional(response);
    pkt->popLabel();
}

void
CounterpointMemory::noteUntimedWrite(PacketPtr pkt)
{
    if (!started || !pkt->isWrite() || pkt->cacheResponding())
        return;
    const Addr last = lineOf(pkt->getAddr() + pkt->getSize() - 1);
    for (Addr line = lineOf(pkt->getAddr()); line <= last; line += LineBytes) {
        if (untimedLines.insert(line).second)
            untimedWrites.push_back(line);
    }
    if (!wakeUpEvent.scheduled())
        schedule(wakeUpEvent, curTick());
    else if (wakeUpEvent.when() > curTick())
        reschedule(wakeUpEvent, curTick());
}

void
CounterpointMemory::sendUntimedWrites()
{
    while (!untimedWrites.empty() && counterpoint_can_accept(library, COUNTERPOINT_WRITE) == 1) {
        const Addr line = untimedWrites.front();
        untimedWrites.pop_front();
        untimedLines.erase(line);
        check(counterpoint_send_write(library, line, hostLine(line), 0, 0));
    }
}

Port &
CounterpointMemory::getPort(const std::string &if_name, PortID idx)
{
    return if_name == "port" ? port : AbstractMemory::getPort(if_name, idx);
}

DrainState
CounterpointMemory::drain()
{
    return idle() ? DrainState::Drained : DrainState::Draining;
}

void
CounterpointMemory::powerFail(const std::string &path)
{
    advance();
    fatal_if(counterpoint_crash(library) != COUNTERPOINT_OK, "%s: %s", name(), counterpoint_last_error());
    waiting.clear();
    held.clear();
    // A name of our own, created exclusively: no other run writes to it, and no link at it is followed.
    std::string unfinished;
    std::FILE *file = nullptr;
    for (unsigned number = 0; !file && (number == 0 || errno == EEXIST); number++) {
        unfinished = path + "." + std::to_string(::getpid()) + "-" + std::to_string(number) + ".part";
        file = std::fopen(unfinished.c_str(), "wbx");
    }
    fatal_if(!file, "%s: %s cannot be written", name(), unfinished);
    // Zeros are skipped, so that the file is as sparse as memory.
    const Line zeros{};
    bool written = true;
    for (Addr at = 0; at < size(); at += LineBytes) {
        Line bytes;
        check(counterpoint_peek(library, at, bytes.data()));
        if (bytes != zeros || at + LineBytes >= size()) {
            written = written && std::fseek(file, static_cast<long>(at), SEEK_SET) == 0 &&
                      std::fwrite(bytes.data(), 1, LineBytes, file) == LineBytes;
        }
    }
    written = std::fclose(file) == 0 && written;
    written = written && std::rename(unfinished.c_str(), path.c_str()) == 0;
    if (!written)
        std::remove(unfinished.c_str());
    fatal_if(!written, "%s: %s cannot be written", name(), path);
}

std::string
CounterpointMemory::statistics()
{
    const char *text = counterpoint_statistics(library);
    panic_if(!text, "%s: %s", name(), counterpoint_last_error());
    return text;
}

} // namespace memory
} // namespace gem5
